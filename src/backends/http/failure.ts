/** Errors as model servers report them, in bodies and inside streams. */
import { fromUpstreamStatus, LintelError } from "../../core/errors.js";
import { type JsonObject, parseJson } from "../../core/json.js";
import { messageIn, statusOf } from "./error-body.js";
import { type Headers, retryAfterIn, retryAfterInBody } from "./retry-after.js";

/** The answer is not what the protocol foresees. */
export function nonsense(what: string, cause?: unknown): LintelError {
  return new LintelError("upstream_failed", `the model server ${what}`, { cause });
}

/**
 * The error that a 200 answer or an event carries, if it carries one. Servers
 * write `{"error": {…}}` or `{"error": "…"}`; older vLLM and SGLang
 * `{"object": "error", …}`.
 * @param marked the event itself is said to be an error
 */
export function failureIn(value: JsonObject, marked = false): LintelError | undefined {
  const bare = marked || value.object === "error" ? value : undefined;
  const error = value.error || bare;
  if (!error) return undefined;
  return failed(statusOf(error) ?? 500, messageIn(value), retryAfterInBody(value));
}

/**
 * The error for an answer with a status that is not 2xx.
 * @param otherwise what it says where the body says nothing
 */
export function failureOf(
  status: number,
  body: string,
  headers: Headers,
  otherwise = "",
): LintelError {
  const value = parseJson(body);
  const said = messageIn(value) || otherwise;
  return failed(status, said, retryAfterIn(headers, value, Date.now()));
}

function failed(status: number, said: string, retryAfter: number | undefined): LintelError {
  const error = fromUpstreamStatus(status, said, retryAfter);
  // What a server says of itself is not the caller's business; the log gets it.
  if (error.code !== "invalid_value" && said !== "") error.cause = new Error(said);
  return error;
}
