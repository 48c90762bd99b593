/** Errors of another gateway, in bodies and inside of streams. */
import type { ErrorCode } from "../../core/error-table.js";
import { LintelError, type Violation } from "../../core/errors.js";
import { acrossHop, askedAcrossHop, isErrorCode } from "../../core/hop.js";
import { isObject, type JsonObject, parseJson } from "../../core/json.js";
import { withoutAddresses } from "../../core/withheld.js";
import { fieldOf } from "../http/error-body.js";
import { failureIn as failureInAny, failureOf as failureOfAny } from "../http/failure.js";
import { string } from "../http/json.js";
import { type Headers, retryAfterOf } from "../http/retry-after.js";

/**
 * The error for an answer with a status that is not 2xx. Another Lintel's
 * errors come back as they were; all others are read as those of a model server.
 */
export function failureOf(status: number, body: string, headers: Headers): LintelError {
  const value = parseJson(body);
  const retryAfter = retryAfterOf(headers["retry-after"], Date.now());
  const own = isObject(value) ? fromLintel(value, retryAfter) : undefined;
  return own ?? failureOfAny(status, body, headers);
}

/** The error that an object of a stream, or a whole answer, carries, if it carries one. */
export const failureIn = (value: JsonObject): LintelError | undefined =>
  fromLintel(value, undefined) ?? failureInAny(value);

function fromLintel(
  { error, detail }: JsonObject,
  said: number | undefined,
): LintelError | undefined {
  if (!isObject(error) || typeof error.code !== "string" || !isErrorCode(error.code)) {
    return undefined;
  }
  const code: ErrorCode = acrossHop(error.code);
  const retryAfter = askedAcrossHop(error.code, said);
  // What is about the hop between us is not the caller's business.
  const own = code === error.code;
  const message = own ? withoutAddresses(string(error.message)) : "the model server failed";
  const options = {
    ...(own && typeof error.param === "string" && { param: error.param }),
    ...(own && { violations: violationsOf(detail) }),
    ...(retryAfter !== undefined && { retryAfter }),
    leaving: error.code === "shutting_down",
  };
  return new LintelError(code, message, { ...options, cause: new Error(string(error.message)) });
}

/** `detail` of a 422, an entry for each field. */
function violationsOf(detail: unknown): Violation[] {
  if (!Array.isArray(detail)) return [];
  return detail.filter(isObject).map(({ loc, msg }) => ({
    field: fieldOf(loc),
    message: string(msg),
  }));
}
