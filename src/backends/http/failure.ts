/** Errors as model servers report them, in bodies and inside streams. */
import type { Retry } from "../../core/error-table.js";
import { LintelError, overflow } from "../../core/errors.js";
import { askedAcrossHop } from "../../core/hop.js";
import { isObject, type JsonObject, parseJson } from "../../core/json.js";
import { isCutShort } from "../../core/json-end.js";
import { withoutAddresses } from "../../core/withheld.js";
import {
  detailsIn,
  errorsIn,
  messageIn,
  namesFilter,
  saidIn,
  soleObject,
  statusOf,
  tellsOfFilter,
  textOfBody,
  withCode,
} from "./error-body.js";
import { string } from "./json.js";
import { hasCrashed, isOfTarget, isOverTls } from "./of-target.js";
import { overflows } from "./overflow.js";
import { type Headers, retryAfterIn, retryAfterInBody } from "./retry-after.js";
import { fromUpstreamStatus, upstreamFailed } from "./status.js";

/**
 * The answer is not what the protocol foresees.
 * @param retry where else it may be had; absent: nowhere
 */
export function nonsense(what: string, cause?: unknown, retry?: Retry): LintelError {
  return new LintelError("upstream_failed", `the model server ${what}`, { retry, cause });
}

/** The answer ended before it was whole: another can be made for who has seen nothing of it. */
export const brokenOff = (cause?: unknown, without = ""): LintelError =>
  nonsense(`broke off its answer${without && `: ${without}`}`, cause, "anywhere");

/**
 * What should be JSON is none. An answer without a length ends where its connection does, also where that
 * broke: where the text ends in the middle of a value, it was broken off.
 */
export function notJson(text: string): LintelError {
  const cause = text === "" ? undefined : new Error(text.slice(0, 200));
  return isCutShort(text)
    ? brokenOff(cause)
    : nonsense("answered with something that is not JSON", cause);
}

/** Why an answer ends that nobody reads on. */
export const unread = () => nonsense("was not listened to any more");

/**
 * The error that a 200 answer or an event carries, if it carries one. Servers
 * write `{"error": {…}}` or `{"error": "…"}`; older vLLM and SGLang
 * `{"object": "error", …}`, MiniMax `{"base_resp": {…}}`.
 * @param marked the event itself is said to be an error
 */
export function failureIn(value: JsonObject, marked = false): LintelError | undefined {
  const bare = marked || value.object === "error" ? value : undefined;
  const error = value.error || bare || soleObject(value)?.error;
  if (!error) return undefined;
  const said = saidIn(value);
  const retryAfter = askedAcrossHop(codeIn(value), retryAfterInBody(value, Date.now()));
  const status = statusOf(error, said) ?? 500;
  return errorOf(status, value, said, retryAfter);
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
  const said = saidIn(value) || otherwise;
  const seconds = retryAfterIn(status, headers, value, Date.now());
  const retryAfter = askedAcrossHop(codeIn(value), seconds);
  const error = isOverTls(status, body)
    ? upstreamFailed(status, "elsewhere")
    : errorOf(status, value, said, retryAfter);
  const why = said === "" ? redirectIn(status, headers) || textOfBody(body) : "";
  if (why !== "") error.cause = new Error(why);
  return error;
}

/** The code of an error, such as another Lintel's on its OpenAI paths. */
const codeIn = (value: unknown): unknown => errorsIn(value).find((error) => "code" in error)?.code;

/** Where a server would have us go, which nobody follows: its address should be another one. */
function redirectIn(status: number, { location }: Headers): string {
  if (status < 300 || status >= 400 || typeof location !== "string") return "";
  // What follows may be a secret.
  return `it redirects to ${location.replace(/[?#].*/s, "").slice(0, 200)}`;
}

const refusedRequest = "the model server refused the request";

/** The error for a status and what a body says with it: of the request, or of the server. */
function errorOf(
  status: number,
  body: unknown,
  said: string,
  retryAfter: number | undefined,
): LintelError {
  if (overflows(status, errorsIn(body), said)) {
    // Cut ahead, too: it may have the word where callers are told no more.
    const words = withoutAddresses(withCode(withoutAddresses(said), overflow));
    return new LintelError("invalid_value", `${refusedRequest}: ${words}`, { param: "messages" });
  }
  const refused = ofRequest(status, body, said, retryAfter);
  if (refused) return refused;
  const ofTarget = isOfTarget(status, body, said);
  const error =
    ofTarget || hasCrashed(status, said)
      ? upstreamFailed(status, ofTarget ? "elsewhere" : "never")
      : fromUpstreamStatus(status, said, retryAfter, isLeaving(status, body));
  // What a server says of itself is not the caller's business; the log gets it.
  if (error.code !== "invalid_value" && said !== "") error.cause = new Error(said);
  return error;
}

/** Whether another Lintel says on its OpenAI paths that it is about to leave. */
const isLeaving = (status: number, body: unknown): boolean =>
  status === 503 && errorsIn(body).some(({ code }) => code === "shutting_down");

/** The error for a status that as a rule tells of something else, where the body says what of the request it is. */
function ofRequest(
  status: number,
  body: unknown,
  said: string,
  retryAfter: number | undefined,
): LintelError | undefined {
  const errors = errorsIn(body);
  const message = said ? `${refusedRequest}: ${withoutAddresses(said)}` : refusedRequest;
  const flagged = errors.some(isFlagged) || detailsIn(body).some(namesFilter);
  if (refusals.has(status) && (flagged || tellsOfFilter(messageIn(body)))) {
    return new LintelError("content_blocked", message);
  }
  if (status === 500 && isEmpty.test(said)) return new LintelError("invalid_value", message);
  if (status !== 429 && status !== 413 && status !== 402) return undefined;
  // Another Lintel's, on its OpenAI paths.
  const own = errors.find(({ code, param }) => code === "rate_limited" && string(param) !== "");
  const param = string(own?.param) || tooMuchOf(messageIn(body));
  if (param === "") return undefined;
  const options = { param, ...(retryAfter !== undefined && { retryAfter }) };
  return new LintelError("rate_limited", message, options);
}

/** Ollama's 500 for messages without a word, where the model has no template that adds some. */
const isEmpty = /^Failed to create new sequence: no input provided$/;

/**
 * More tokens than the account may use in a minute: OpenAI says so with a 429, Groq with a 413. More
 * than it has credits for: OpenRouter with a 402. Where these are for less than a thousand, there are
 * as good as none.
 */
const tooMuch: readonly (readonly [RegExp, string])[] = [
  [/^request too large for\b.*\btokens per\b/i, "messages"],
  [
    /^this request requires more credits, or fewer max_tokens\b.* can only afford \d{4}/i,
    "max_tokens",
  ],
  [/^prompt tokens limit exceeded: \d+ > \d{4}/i, "messages"],
];

/** The field of which there is too much, as a server's message has it; empty: it says no such thing. */
const tooMuchOf = (said: string): string => tooMuch.find(([words]) => words.test(said))?.[1] ?? "";

/** What filters answer with; 403 is else about the key. */
const refusals: ReadonlySet<number> = new Set([400, 403, 422]);

/** OpenRouter's moderation has nothing but `metadata` to tell it by. */
function isFlagged(error: JsonObject): boolean {
  const { metadata } = error;
  const moderated =
    isObject(metadata) && (Array.isArray(metadata.reasons) || "flagged_input" in metadata);
  return moderated || namesFilter(error);
}
