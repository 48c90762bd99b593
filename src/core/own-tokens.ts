/** Tokens that callers make for themselves: new ones, which there are, and their end. */
import { create } from "@bufbuild/protobuf";
import { timestampFromMs } from "@bufbuild/protobuf/wkt";
import {
  CreateTokenResponseSchema,
  ListTokensResponseSchema,
  RevokeTokenResponseSchema,
  type Token,
  TokenSchema,
} from "../../gen/lintel/v1/tokens_pb.js";
import type { Call, Caller } from "./call.js";
import type { OwnTokens, Voucher } from "./callers/own.js";
import type { StoredToken } from "./callers/store.js";
import { checkTokenName, noSuchToken } from "./callers/token-name.js";
import { invalidFields, LintelError, type Violation } from "./errors.js";
import type { Output } from "./methods.js";

/** The methods by which callers administer their tokens. */
export type OwnTokenMethod = "createToken" | "listTokens" | "revokeToken";

/**
 * Answers them.
 * @param tokens absent: there is no database here
 * @throws LintelError `tokens_not_allowed` unless an issuer of JWTs says who calls, whose callers may make tokens
 */
export async function* ownTokensOf(
  call: Call<OwnTokenMethod>,
  tokens: OwnTokens | undefined,
): AsyncGenerator<readonly Output<OwnTokenMethod>[]> {
  const { caller } = call;
  const voucher = caller?.voucher;
  if (!caller || !voucher) throw notAllowed(caller);
  if (!tokens) throw new LintelError("unavailable", noDatabase);
  const work = { owner: caller.id, voucher, tokens };
  switch (call.method) {
    case "createToken":
      yield [await made(call as Call<"createToken">, work)];
      return;
    case "listTokens":
      yield [await listed(work)];
      return;
    case "revokeToken":
      yield [await revoked(call as Call<"revokeToken">, work)];
  }
}

interface Work {
  /** The caller's id. */
  readonly owner: string;
  readonly voucher: Voucher;
  readonly tokens: OwnTokens;
}

async function made(
  call: Call<"createToken">,
  { owner, voucher, tokens }: Work,
): Promise<Output<"createToken">> {
  const { name, ttlSeconds } = call.request;
  const { issuer, settings } = voucher;
  const { max, maxTtlMs, maxPerDay } = settings;
  const most = Math.floor(maxTtlMs / 1000);
  const found: Violation[] = [];
  checkTokenName(name, found);
  if (ttlSeconds > most) {
    found.push({ field: "ttl_seconds", message: `must be at most ${most} here` });
  }
  if (found.length > 0) throw invalidFields(found);
  const expiresAt = Date.now() + (ttlSeconds || most) * 1000;
  const claims = voucher.claimsIn(call.credential ?? "");
  const maker = { caller: owner, issuer, claims };
  const issued = await tokens.create({ owner: maker, name, expiresAt, max, maxPerDay });
  if (issued === "taken") {
    const message = `you have a token called ${JSON.stringify(name)} already`;
    throw new LintelError("already_exists", message, { param: "name" });
  }
  if (issued === "most") {
    const message = `you have ${max} ${max === 1 ? "token" : "tokens"} already, and may have no more: end one first`;
    throw new LintelError("failed_precondition", message);
  }
  if ("nextAt" in issued) {
    const { nextAt } = issued;
    const message = `you have made ${maxPerDay} ${maxPerDay === 1 ? "token" : "tokens"} within 24 hours, and may make no more until ${new Date(nextAt).toISOString()}`;
    const retryAfter = Math.max(1, Math.ceil((nextAt - Date.now()) / 1000));
    throw new LintelError("rate_limited", message, { retryAfter });
  }
  call.log.info(changeIn(call, issued.token), "a caller made a token for itself");
  return create(CreateTokenResponseSchema, {
    token: messageOf(issued.token),
    secret: issued.secret,
  });
}

async function listed({ owner, voucher, tokens }: Work): Promise<Output<"listTokens">> {
  const { max, maxTtlMs } = voucher.settings;
  return create(ListTokensResponseSchema, {
    tokens: (await tokens.list(owner)).map(messageOf),
    maxTokens: max,
    maxTtlSeconds: Math.floor(maxTtlMs / 1000),
  });
}

async function revoked(
  call: Call<"revokeToken">,
  { owner, tokens }: Work,
): Promise<Output<"revokeToken">> {
  const { token: which } = call.request;
  const token = await tokens.revoke(owner, which);
  if (!token) {
    throw noSuchToken(which, `you have no token ${JSON.stringify(which)} that counts`);
  }
  call.log.info(changeIn(call, token), "a caller ended a token of its own");
  return create(RevokeTokenResponseSchema, { token: messageOf(token) });
}

/** What the log says of a change, which has a line of its own, however few of the calls are logged. */
const changeIn = ({ id, method, attributes: { door, caller } }: Call, token: StoredToken) => ({
  ...{ id, method, door, caller },
  token: token.name,
  tokenId: token.id,
});

const messageOf = ({ id, name, createdAt, expiresAt }: StoredToken): Token =>
  create(TokenSchema, {
    id,
    name,
    createdAt: timestampFromMs(createdAt),
    expiresAt: expiresAt === undefined ? undefined : timestampFromMs(expiresAt),
  });

function notAllowed(caller: Caller | undefined): LintelError {
  const message = caller?.token?.startsWith("tok_")
    ? "a token makes, lists and ends no tokens: that takes a JWT of its owner's issuer"
    : "tokens of their own are for callers with a JWT of an issuer with own_tokens in the configuration";
  return new LintelError("tokens_not_allowed", message);
}

const noDatabase = "this gateway has no database of tokens; its log says why";
