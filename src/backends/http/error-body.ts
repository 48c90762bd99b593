/** What errors say, in the forms that model servers have for them. */
import { isObject, type JsonObject, parseJson } from "../../core/json.js";
import { withoutSecrets } from "../../core/secrets.js";
import { errorInBaseResp } from "./base-resp.js";
import { string } from "./json.js";
import { saysTooLong } from "./overflow.js";

/** Letters of a server's words that are kept. */
const mostLetters = 2000;

/** Without keys first: half of one would not be known for what it is. */
const beginningOf = (words: string): string => withoutSecrets(words).slice(0, mostLetters);

/** What the log has of the body of an error: its message, else how it begins. */
export const loggedOf = (body: string): string => messageIn(parseJson(body)) || textOfBody(body);

/** How a body begins that has no message, such as a proxy's page; nothing of one that is no text. */
export function textOfBody(body: string): string {
  const beginning = beginningOf(body);
  return /[\0\uFFFD]/.test(beginning) ? "" : beginning;
}

/** The message in the body of an error, empty where there is none: pages of HTML are not shown. */
export function messageIn(body: unknown): string {
  const words = errorBodies(body).map(wordsOf);
  return beginningOf(words.find((said) => said !== "") ?? "");
}

/** Bytes after which a code would be cut off with the end of what callers are told. */
const longMessage = 400;

/** A word, not a number. */
const codeWord = /^(?=.*[a-z])[\w.-]{1,64}$/i;

/**
 * As `messageIn`, with the error's code where that is a word: clients look in the message for
 * such as OpenAI's `context_length_exceeded`.
 */
export function saidIn(body: unknown): string {
  const said = messageIn(body);
  const codes = errorsIn(body).map((error) => string(error.code));
  const code = codes.find((found) => codeWord.test(found));
  return code === undefined ? said : withCode(said, code);
}

/** Words with a code, where they don't have it. */
export function withCode(said: string, code: string): string {
  if (said === "" || said.includes(code)) return said || code;
  return Buffer.byteLength(said) > longMessage ? `${code}: ${said}` : `${said} (${code})`;
}

/**
 * The objects that tell of an error, the closest to it first. Google's OpenAI endpoint
 * puts it into a list; OpenRouter has what the model's provider answered inside of its own.
 */
export function errorBodies(body: unknown): JsonObject[] {
  const outer = soleObject(body);
  if (!outer) return [];
  const inner = isObject(outer.error) ? providers(outer.error) : undefined;
  return inner ? [inner, outer] : [outer];
}

/** The errors themselves, as `errorBodies`; some are in no object of their own. */
export const errorsIn = (body: unknown): JsonObject[] =>
  errorBodies(body).map((one) => (isObject(one.error) ? one.error : one));

/** What FastAPI's servers list of a request, fal among them. */
export const detailsIn = (body: unknown): JsonObject[] => {
  const { detail } = soleObject(body) ?? {};
  return Array.isArray(detail) ? detail.filter(isObject) : [];
};

/** An object, or the only one of a list; its error in the usual form. */
export function soleObject(body: unknown): JsonObject | undefined {
  const value = Array.isArray(body) && body.length === 1 ? body[0] : body;
  if (!isObject(value)) return undefined;
  const error = value.error ? undefined : errorInBaseResp(value);
  return error ? { ...value, error } : value;
}

/** OpenRouter's `metadata.raw`: mostly JSON as a text, or plain words. */
function providers({ metadata }: JsonObject): JsonObject | undefined {
  const raw = isObject(metadata) ? metadata.raw : undefined;
  if (typeof raw !== "string") return soleObject(raw);
  return soleObject(parseJson(raw)) ?? (/^\s*</.test(raw) ? undefined : { message: raw });
}

/** The words of an error object: Mistral has an object for a message. */
export const wordsIn = (error: JsonObject): JsonObject =>
  isObject(error.message) ? error.message : error;

function wordsOf(body: JsonObject): string {
  const words = read(body.error || body);
  // The name of an exception, with its words beside it.
  if (typeof body.error === "string") return read({ ...body, error: "" }) || words;
  return words;
}

function read(error: unknown): string {
  if (!isObject(error)) return listed(error);
  const said = wordsIn(error);
  // AUTOMATIC1111 and SD.Next put the words of an exception into `errors`.
  return string(said.message) || listed(said.detail) || listed(error.errors);
}

/** A text, an object with one, or a list of either (Hugging Face, FastAPI, Cloudflare, DeepInfra). */
function listed(value: unknown): string {
  const texts = (Array.isArray(value) ? value : [value]).map(textOf);
  return texts.filter((text) => text !== "").join("; ");
}

function textOf(entry: unknown): string {
  if (!isObject(entry)) return string(entry);
  const said = string(entry.message) || string(entry.msg) || string(entry.error);
  const field = fieldOf(entry.loc);
  return said && field ? `${field}: ${said}` : said;
}

/** FastAPI's `["body", "messages", 0, "role"]` as `messages[0].role`; empty where nothing is named. */
export function fieldOf(loc: unknown): string {
  if (!Array.isArray(loc)) return "";
  const parts = loc.filter((part) => part !== "body");
  return parts
    .map((part) => (typeof part === "number" ? `[${part}]` : `.${String(part)}`))
    .join("")
    .replace(/^\./, "");
}

/**
 * What a filter of prompts or answers is told in: OpenAI's `moderation_blocked` and
 * `content_policy_violation`, `content_filter` of Azure and Moonshot, DashScope's
 * `data_inspection_failed`, Ark's `SensitiveContentDetected`, Gemini's `SAFETY` and `PROHIBITED_CONTENT`.
 */
const filter =
  /moderation|content_?(?:filter|policy|blocked)|data_?inspection|sensitive_?content|prohibited_?content|safety/i;

/** That the filter itself fails, or is not for this key, or was given what it can't read. */
const unfiltered =
  /internal|server_?error|unavailable|time_?out|rate_?limit|not_enabled|authent|permission|api_key|invalid_?parameter/i;

/** Whether an error's code or type names a filter of what was asked or answered as its reason. */
export function namesFilter(error: JsonObject): boolean {
  const name = nameOf(error);
  return filter.test(name) && !unfiltered.test(name);
}

const nameOf = ({ code, type }: JsonObject): string => `${string(code)} ${string(type)}`;

/** Statuses by words in `code` and `type`, for errors without a number. */
const words: readonly (readonly [RegExp, number])[] = [
  [/rate_?limit|quota|too_?many|throttl/i, 429],
  [/overload|unavailable|capacity/i, 503],
  [/time_?out/i, 504],
  [/authent|permission|api_key/i, 401],
  [/invalid|validation|bad_?request|user_?error|context|unsupported/i, 400],
];

/** Text Generation Inference says 422 of all that goes wrong in a stream: its words tell. */
const notRequest: readonly (readonly [RegExp, number])[] = [
  [/^Model is overloaded/, 503],
  [/^(?:Request failed during generation|Incomplete generation|Stream event)/, 500],
];

/**
 * Filters that are told by words alone: xAI's of prompts, beside the code of a key that may not do something,
 * and of images; Google's of prompts and of what Imagen draws; Bedrock's; those of models at Replicate.
 */
const filtered: readonly RegExp[] = [
  /^content violates usage guidelines\b/i,
  /^generated image rejected by content moderation\b/i,
  /^(?:image generation failed with the following error: )?the prompt could not be submitted\. this prompt contains sensitive words\b/i,
  /^(?:image generation failed with the following error: )?the response is blocked, as it may violate our policies\b/i,
  /^th(?:is|e) [\w ()]+ blocked by our content filters\b/i,
  /^nsfw content detected\b/i,
  /^the input or output was flagged as sensitive\b/i,
];

/** Whether a server's message begins as that of a filter does. */
export const tellsOfFilter = (said: string): boolean => filtered.some((words) => words.test(said));

/**
 * The HTTP status that an error names, in a number or in words.
 * @param said its message
 */
export function statusOf(error: unknown, said: string): number | undefined {
  return statusIn(error, said) ?? (saysTooLong(said) || tellsOfFilter(said) ? 400 : undefined);
}

function statusIn(error: unknown, said: string): number | undefined {
  if (!isObject(error)) return undefined;
  if (error.http_status_code === 422) {
    return notRequest.find(([pattern]) => pattern.test(said))?.[1] ?? 422;
  }
  for (const value of [error.code, error.status, error.status_code]) {
    const number = typeof value === "string" ? Number(value) : value;
    if (typeof number === "number" && number >= 400 && number <= 599) return number;
  }
  const name = nameOf(error);
  return (
    words.find(([pattern]) => pattern.test(name))?.[1] ?? (namesFilter(error) ? 400 : undefined)
  );
}
