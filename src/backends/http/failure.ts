/** Errors as model servers report them, in bodies and inside streams. */
import { fromUpstreamStatus, LintelError } from "../../core/errors.js";
import { isObject, type JsonObject, parseJson, string } from "./json.js";

/** The answer is not what the protocol foresees. */
export function nonsense(what: string, cause?: unknown): LintelError {
  return new LintelError("upstream_failed", `the model server ${what}`, { cause });
}

/** What an error object says. */
interface Said {
  readonly message: string;
  readonly status: number | undefined;
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
  const { message, status } = read(error);
  return fromUpstreamStatus(status ?? 500, message);
}

/** The error for an answer with a status that is not 2xx. */
export function failureOf(
  status: number,
  body: string,
  retryAfter: number | undefined,
): LintelError {
  const said = messageOf(body);
  const error = fromUpstreamStatus(status, said, retryAfter);
  // What a server says of its own failure is not the caller's business; the log gets it.
  if (error.code !== "upstream_failed" || said === "") return error;
  const { code, message, retry } = error;
  return new LintelError(code, message, { retry, cause: new Error(said.slice(0, 2000)) });
}

/** The message in the body of an error, empty where there is none: pages of HTML are not shown. */
export function messageOf(body: string): string {
  const value = errorBody(body);
  if (!value) return "";
  const { message } = read(value.error || value);
  // The name of an exception, with its words beside it.
  if (typeof value.error === "string") return read({ ...value, error: "" }).message || message;
  return message;
}

/** The body of an error as an object; Google's OpenAI endpoint puts it into a list. */
export function errorBody(body: string): JsonObject | undefined {
  const value = parseJson(body);
  const only = Array.isArray(value) && value.length === 1 ? value[0] : value;
  return isObject(only) ? only : undefined;
}

/** The words of an error object: Mistral has an object for a message. */
export const wordsIn = (error: JsonObject): JsonObject =>
  isObject(error.message) ? error.message : error;

function read(error: unknown): Said {
  if (typeof error === "string") return { message: error, status: undefined };
  if (!isObject(error)) return { message: "", status: undefined };
  const said = wordsIn(error);
  const { detail } = said;
  const details = Array.isArray(detail)
    ? detail.map((entry) => (isObject(entry) ? string(entry.msg) : "")).join("; ")
    : string(detail);
  // AUTOMATIC1111 and SD.Next put the words of an exception into `errors`.
  const message = string(said.message) || details || string(error.errors);
  return { message, status: statusOf(error) };
}

/** Statuses by words in `code` and `type`, for errors without a number. */
const words: readonly (readonly [RegExp, number])[] = [
  [/rate_?limit|quota|too_?many/i, 429],
  [/overload|unavailable|capacity/i, 503],
  [/time_?out/i, 504],
  [/authent|permission|api_key/i, 401],
  [/invalid|bad_?request|context|unsupported/i, 400],
];

function statusOf(error: JsonObject): number | undefined {
  for (const value of [error.code, error.status, error.status_code]) {
    const number = typeof value === "string" ? Number(value) : value;
    if (typeof number === "number" && number >= 400 && number <= 599) return number;
  }
  const named = `${string(error.code)} ${string(error.type)}`;
  return words.find(([pattern]) => pattern.test(named))?.[1];
}

/**
 * Seconds that `Retry-After` asks for, at least 1.
 * @param now milliseconds since the epoch, for the form with a date
 */
export function retryAfterOf(
  header: string | string[] | undefined,
  now: number,
): number | undefined {
  const text = (Array.isArray(header) ? header[0] : header)?.trim();
  if (!text) return undefined;
  const seconds = /^\d+(?:\.\d+)?$/.test(text) ? Number(text) : (Date.parse(text) - now) / 1000;
  return Number.isFinite(seconds) ? Math.max(1, Math.ceil(seconds)) : undefined;
}
