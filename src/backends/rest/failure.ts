/** Errors of another gateway, in bodies and inside of streams. */
import { acrossHop, isErrorCode } from "../../core/connect-error.js";
import {
  type ErrorCode,
  fromUpstreamStatus,
  LintelError,
  type Violation,
} from "../../core/errors.js";
import { withoutAddresses } from "../../core/withheld.js";
import { isObject, type JsonObject, parseJson, string } from "../http/json.js";

/**
 * The error for an answer with a status that is not 2xx. Another Lintel's
 * errors come back as they were; of all others the message is handed on.
 * @param retryAfter seconds
 */
export function failureOf(
  status: number,
  body: string,
  retryAfter: number | undefined,
): LintelError {
  const value = parseJson(body);
  const answer = isObject(value) ? value : {};
  return fromLintel(answer, retryAfter) ?? fromUpstreamStatus(status, saidIn(answer), retryAfter);
}

/** The error that an object of a stream carries, if it carries one. */
export function failureIn(value: JsonObject): LintelError | undefined {
  if (!value.error) return undefined;
  return fromLintel(value, undefined) ?? fromUpstreamStatus(500, saidIn(value));
}

function fromLintel(
  { error, detail }: JsonObject,
  retryAfter: number | undefined,
): LintelError | undefined {
  if (!isObject(error) || typeof error.code !== "string" || !isErrorCode(error.code)) {
    return undefined;
  }
  const code: ErrorCode = acrossHop(error.code);
  // What is about the hop between us is not the caller's business.
  const own = code === error.code;
  const message = own ? withoutAddresses(string(error.message)) : "the model server failed";
  const options = {
    ...(own && typeof error.param === "string" && { param: error.param }),
    ...(own && { violations: violationsOf(detail) }),
    ...(retryAfter !== undefined && { retryAfter }),
  };
  return new LintelError(code, message, { ...options, cause: new Error(string(error.message)) });
}

/** `detail` of a 422, an entry for each field. */
function violationsOf(detail: unknown): Violation[] {
  if (!Array.isArray(detail)) return [];
  return detail.filter(isObject).map(({ loc, msg }) => ({
    field: pathOf(Array.isArray(loc) ? loc.filter((part) => part !== "body") : []),
    message: string(msg),
  }));
}

/** `["messages", 0, "role"]` as `messages[0].role`. */
const pathOf = (parts: readonly unknown[]): string =>
  parts
    .map((part) => (typeof part === "number" ? `[${part}]` : `.${String(part)}`))
    .join("")
    .replace(/^\./, "");

function saidIn({ error, detail, message }: JsonObject): string {
  if (isObject(error) && typeof error.message === "string") return error.message;
  if (typeof error === "string") return error;
  if (isObject(detail)) return string(detail.msg);
  if (!Array.isArray(detail)) return string(detail) || string(message);
  return violationsOf(detail)
    .map(({ field, message }) => (field ? `${field}: ${message}` : message))
    .join("; ");
}
