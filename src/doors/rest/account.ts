/** An account and the tokens of its own as JSON. */
import { timestampDate } from "@bufbuild/protobuf/wkt";
import {
  type GetAccountResponse,
  type Limit,
  LimitQuantity,
  LimitScope,
  LimitWindow,
} from "../../../gen/lintel/v1/account_pb.js";
import type { ListTokensResponse, Token } from "../../../gen/lintel/v1/tokens_pb.js";

/** A token that its owner made, as REST tells of it. */
export const tokenObject = (token: Token | undefined) => ({
  id: token?.id ?? "",
  name: token?.name ?? "",
  created_at: token?.createdAt && timestampDate(token.createdAt).toISOString(),
  expires_at: token?.expiresAt && timestampDate(token.expiresAt).toISOString(),
});

/** The list of them. */
export const tokensObject = ({ tokens, maxTokens, maxTtlSeconds }: ListTokensResponse) => ({
  tokens: tokens.map(tokenObject),
  max_tokens: maxTokens,
  max_ttl_seconds: maxTtlSeconds,
});

/** An account as REST answers it. What is not known is left out. */
export const accountObject = (account: GetAccountResponse) => ({
  caller: account.caller,
  token: account.token,
  team: account.team,
  expires_at: account.expiresAt && timestampDate(account.expiresAt).toISOString(),
  models: account.models,
  team_models: account.teamModels,
  limits: account.limits.map(limitObject),
});

const limitObject = (of: Limit) => ({
  quantity: quantityWords[of.quantity] ?? "",
  scope: scopeWords[of.scope] ?? "",
  name: of.name,
  limit: of.limit,
  remaining: of.remaining,
  window: windowWords[of.window] ?? "",
  reset_seconds: of.resetSeconds,
});

/** Quantities in JSON. */
export const quantityWords: Readonly<Record<LimitQuantity, string>> = {
  [LimitQuantity.UNSPECIFIED]: "",
  [LimitQuantity.REQUESTS]: "requests",
  [LimitQuantity.TOKENS]: "tokens",
  [LimitQuantity.IMAGES]: "images",
  [LimitQuantity.CONCURRENT]: "concurrent",
  [LimitQuantity.SPEND]: "spend",
};

/** Scopes in JSON. */
export const scopeWords: Readonly<Record<LimitScope, string>> = {
  [LimitScope.UNSPECIFIED]: "",
  [LimitScope.CALLER]: "caller",
  [LimitScope.CALLER_MODEL]: "caller_model",
  [LimitScope.TEAM]: "team",
  [LimitScope.TEAM_MODEL]: "team_model",
  [LimitScope.MODEL]: "model",
  [LimitScope.GLOBAL]: "global",
  [LimitScope.USER]: "user",
};

/** Windows in JSON. */
export const windowWords: Readonly<Record<LimitWindow, string>> = {
  [LimitWindow.UNSPECIFIED]: "",
  [LimitWindow.RUNNING]: "running",
  [LimitWindow.MINUTE]: "minute",
  [LimitWindow.HOUR]: "hour",
  [LimitWindow.DAY]: "day",
  [LimitWindow.WEEK]: "week",
  [LimitWindow.MONTH]: "month",
  [LimitWindow.LIFETIME]: "lifetime",
};
