/** What answers about accounts look like, as JSON Schema. */
import { quantityWords, scopeWords, windowWords } from "../account.js";
import { type Contract, commentOf, fieldsOf } from "./contract.js";
import { count, list, object, type Part, refer, text } from "./schema.js";

/** What an enum of the contract is in JSON; nothing is not specified. */
const words = (of: Readonly<Record<number, string>>): Part => ({
  enum: Object.values(of).filter((word) => word !== ""),
});

/** Those of the tokens that callers make. */
export function tokenSchemas(contract: Contract): Record<string, Part> {
  const token = fieldsOf(contract.message("Token"));
  const made = fieldsOf(contract.message("CreateTokenResponse"));
  const ended = fieldsOf(contract.message("RevokeTokenResponse"));
  const all = fieldsOf(contract.message("ListTokensResponse"));
  const time = { type: "string", format: "date-time" };
  return {
    Token: object(commentOf(contract.message("Token")), {
      id: token("id", text),
      name: token("name", text),
      created_at: token("created_at", time),
      expires_at: token("expires_at", time),
    }),
    MadeToken: object(commentOf(contract.message("CreateTokenResponse")), {
      token: made("token", refer("Token")),
      secret: made("secret", text),
    }),
    EndedToken: object(commentOf(contract.message("RevokeTokenResponse")), {
      token: ended("token", refer("Token")),
    }),
    Tokens: object(commentOf(contract.message("ListTokensResponse")), {
      tokens: all("tokens", list(refer("Token"))),
      max_tokens: all("max_tokens", count),
      max_ttl_seconds: all("max_ttl_seconds", count),
    }),
  };
}

/** Those of an account. */
export function accountSchemas(contract: Contract): Record<string, Part> {
  const response = fieldsOf(contract.message("GetAccountResponse"));
  const limit = fieldsOf(contract.message("Limit"));
  return {
    Account: object(commentOf(contract.message("GetAccountResponse")), {
      caller: response("caller", text),
      token: response("token", text),
      team: response("team", text),
      "expires_at?": response("expires_at", { type: "string", format: "date-time" }),
      models: response("models", list(text)),
      team_models: response("team_models", list(text)),
      limits: response("limits", list(refer("Limit"))),
    }),
    Limit: object(commentOf(contract.message("Limit")), {
      quantity: limit("quantity", words(quantityWords)),
      scope: limit("scope", words(scopeWords)),
      name: limit("name", text),
      limit: limit("limit", { type: "number" }),
      "remaining?": limit("remaining", { type: "number" }),
      window: limit("window", words(windowWords)),
      "reset_seconds?": limit("reset_seconds", count),
    }),
  };
}
