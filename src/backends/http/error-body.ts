/** What errors say, in the forms that model servers have for them. */
import { isObject, type JsonObject, parseJson } from "../../core/json.js";
import { withoutSecrets } from "../../core/secrets.js";
import { errorInBaseResp } from "./base-resp.js";
import { string } from "./json.js";

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

/** Letters after which a code would be cut off with the end of what callers are told. */
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
  if (code === undefined || said.includes(code)) return said;
  if (said === "") return code;
  return said.length > longMessage ? `${code}: ${said}` : `${said} (${code})`;
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

/** A text, an object with one, or a list of either (Hugging Face, FastAPI, Cloudflare). */
function listed(value: unknown): string {
  const texts = (Array.isArray(value) ? value : [value]).map(textOf);
  return texts.filter((text) => text !== "").join("; ");
}

function textOf(entry: unknown): string {
  if (!isObject(entry)) return string(entry);
  const said = string(entry.message) || string(entry.msg);
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
  [/rate_?limit|quota|too_?many/i, 429],
  [/overload|unavailable|capacity/i, 503],
  [/time_?out/i, 504],
  [/authent|permission|api_key/i, 401],
  [/invalid|bad_?request|user_?error|context|unsupported/i, 400],
];

/** Text Generation Inference says 422 of all that goes wrong in a stream: its words tell. */
const notRequest: readonly (readonly [RegExp, number])[] = [
  [/^Model is overloaded/, 503],
  [/^(?:Request failed during generation|Incomplete generation|Stream event)/, 500],
];

/**
 * What a 400 tells that no request can help: of the key (xAI, Google), of the account
 * (Anthropic, Google, Groq, LiteLLM), of the model's name (DeepSeek, OpenRouter, Mistral, Bedrock, MiniMax,
 * SiliconFlow, Z.ai), or that it is not there any more (LM Studio).
 * Said at the beginning and before any quotes: elsewhere may stand what the caller wrote, who
 * could take a target out by it.
 */
const ofTarget =
  /^[^"'`\n]{0,100}(?:\b(?:incorrect|invalid) api key\b|\bapi key (?:not (?:valid|found)|expired)|credit balance is too low|user location is not supported|organization has been (?:disabled|restricted)|reached your specified api usage limits|\bbudget has been exceeded!|\bmodel not exist\b|is not a valid model id\b|model identifier is invalid)|^invalid model: |^invalid params, unknown model\b|^model does not exist\b|^unknown model, please check\b|^模型不存在|^model (?:is )?unloaded\.?$/i;

/** llama.cpp's router of the model, in whole messages: what is quoted is the name that we gave it. */
const ofRouter = /^model (?:(?:'[^'\n]*' )?not found|is not loaded|name=\S+ is not running)$/;

/** LiteLLM's of the model. */
const ofLiteLlm =
  /^(?:\{'error': ['"])?(?:\/[\w/]{1,60}: )?invalid model name passed in\b|^(?:litellm\.BadRequestError: )?you passed in model=\S{1,200} there are no healthy deployments\b/i;

/** NVIDIA's of a model that does not run now. */
const ofNvidia = /^Function id '[\da-f-]{36}': DEGRADED function cannot be invoked$/;

/**
 * What a 429 is called, or a 400, that no waiting helps, for the account has nothing left to spend:
 * by OpenAI, Moonshot and LiteLLM. Google has the same words for limits per minute.
 */
const spent =
  /^(?:insufficient_quota|exceeded_current_quota_error|billing_(?:hard_limit_reached|not_active)|budget_exceeded)$/i;

/** The same in the words of those who call it nothing that tells: Z.ai, also in Chinese, Google, xAI, Ollama's cloud, Cloudflare. */
const spentInWords: readonly RegExp[] = [
  /^(?:insufficient balance\b|余额不足)/i,
  /^your (?:prepayment credits are depleted|project has exceeded its monthly spending cap)\b/i,
  /^your team \S{1,80} has either used all available credits\b/i,
  /^you (?:\([^)\n]{1,80}\) )?have reached your \w+ usage limit\b/i,
  /^(?:AiError: )?(?:\d{4}: )?you have used up your daily free allocation\b/i,
];

/**
 * What a 500 tells of a model that could not be loaded, so that nothing was done: llama.cpp's router
 * and Ollama, which runs models in a process of their own, a llama runner formerly.
 */
const notLoaded =
  /^(?:model name=\S+ failed to load$|model failed to load, this may be due to\b|unable to load model: |model requires (?:more system memory\b|[\d.]+ \w+ but only\b)|llama(?: runner|-server) process (?:has terminated|no longer running)\b|timed out waiting for llama(?: runner|-server)\b|llama-server reported out-of-memory during startup\b|mlx runner (?:exited unexpectedly\b|failed: .* \(exit: )|timeout waiting for mlx runner\b)/;

/**
 * Codes of a 400 about the model: of Groq, Together AI, Hugging Face's router, GitHub, Azure where it
 * is not for chats, and LM Studio where it can't load one. Alibaba's and one of Groq's are about the account.
 */
const ofModel =
  /^(?:arrearage|organization_restricted|model_(?:decommissioned|not_(?:found|available|supported)\w*)|(?:unknown|unavailable)_model|dedicated_endpoint_not_running|OperationNotSupported)$/i;

/**
 * Whether what a server says with a status for bad requests is about its own key, account or model,
 * with one for limits that its account is spent, or with one of its own failure that it has no
 * model to do it with.
 * @param said its message
 */
export function isOfTarget(status: number, body: unknown, said: string): boolean {
  if (status === 500) return notLoaded.test(said);
  if (status !== 400 && status !== 429) return false;
  const errors = errorsIn(body);
  const isSpent = ({ code, type }: JsonObject) =>
    spent.test(string(code)) || spent.test(string(type));
  if (spentInWords.some((words) => words.test(said)) || errors.some(isSpent)) return true;
  if (status === 429) return false;
  return (
    [ofTarget, ofRouter, ofLiteLlm, ofNvidia].some((words) => words.test(said)) ||
    errors.some(({ code }) => ofModel.test(string(code)))
  );
}

/** Whether LM Studio says, with the status for bad requests, that its model did not survive one. */
export const hasCrashed = (status: number, said: string): boolean =>
  status === 400 && /^the model has crashed\b/i.test(said);

/** What a prompt that is too long is told in: LM Studio has nothing but words for it. */
const tooLong =
  /(?:exceed\w*|(?:greater|larger|longer) than) (?:[\w']+ ){0,3}context (?:length|size|window)|context (?:length|size|window) (?:of [^.]*not enough|(?:(?:is|was|has been) )?exceeded)|maximum context length|n_keep\b.*>= *n_ctx|(?:prompt|input) (?:is |was )?too long/i;

/** xAI has words alone for a prompt that its filter refuses, beside the code of a key that may not do something. */
const filtered = /^content violates usage guidelines\b/i;

/** Whether a server's message begins as that of a filter does. */
export const tellsOfFilter = (said: string): boolean => filtered.test(said);

/**
 * The HTTP status that an error names, in a number or in words.
 * @param said its message
 */
export function statusOf(error: unknown, said: string): number | undefined {
  return statusIn(error, said) ?? (tooLong.test(said) || tellsOfFilter(said) ? 400 : undefined);
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
