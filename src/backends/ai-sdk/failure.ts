/** What went wrong at a provider, in Lintel's terms. */
import type { APICallError } from "@ai-sdk/provider";
import { LintelError } from "../../core/errors.js";
import { isObject, type JsonObject, parseJson } from "../../core/json.js";
import { isCutShort } from "../../core/json-end.js";
import { withoutAddresses } from "../../core/withheld.js";
import { firstChoice, readEnd } from "../completions/completion.js";
import { statusOf } from "../http/error-body.js";
import { brokenOff, failureIn, failureOf as failureOfAnswer, nonsense } from "../http/failure.js";
import { string } from "../http/json.js";

/** Providers mark their errors, so that those of another copy of the package are known too. */
const isNamed = (error: object, name: string) => Symbol.for(`vercel.ai.error.${name}`) in error;

/** Whether a provider finds no key, or another of its settings. */
export const lacksCredentials = (thrown: unknown): boolean =>
  typeof thrown === "object" &&
  thrown !== null &&
  (isNamed(thrown, "AI_LoadAPIKeyError") || isNamed(thrown, "AI_LoadSettingError"));

/** Causes that tell of time running out. */
const timeouts = new Set([
  "UND_ERR_CONNECT_TIMEOUT",
  "UND_ERR_HEADERS_TIMEOUT",
  "UND_ERR_BODY_TIMEOUT",
]);

/** Errors about the request, and what they say of it. */
const requestErrors = [
  "AI_UnsupportedFunctionalityError",
  "AI_InvalidPromptError",
  "AI_InvalidArgumentError",
  "AI_TooManyEmbeddingValuesForCallError",
];

/** The error for whatever a provider threw or reported inside a stream, other than for our own abort. */
export function failureOf(thrown: unknown): LintelError {
  const own = causes(thrown).find((cause) => cause instanceof LintelError);
  if (own) return own as LintelError;
  if (typeof thrown === "string") return failureIn({ error: thrown }) ?? nonsense("failed");
  if (typeof thrown !== "object" || thrown === null) return nonsense("failed", thrown);
  if (causes(thrown).some(({ code }) => timeouts.has(String(code)))) {
    return new LintelError("timeout", "the model server took too long", { cause: thrown });
  }
  if (isApiCall(thrown)) return ofApiCall(thrown);
  if (lacksCredentials(thrown)) {
    return new LintelError("unavailable", "the model server's credentials are not configured", {
      cause: thrown,
      retry: "elsewhere",
    });
  }
  if (requestErrors.some((name) => isNamed(thrown, name))) {
    const said = withoutAddresses((thrown as Error).message + firstIssue(thrown));
    return new LintelError("invalid_value", `the model server refused the request: ${said}`, {
      cause: thrown,
    });
  }
  // Streams report the vendor's own error object.
  if (!(thrown instanceof Error)) return failureIn({ error: thrown }) ?? nonsense("failed", thrown);
  if (isConnection(thrown)) return unreachable(thrown);
  // Since AI SDK 7 they fetch nothing from private addresses, whatever `allow_hosts` says.
  if (isNamed(thrown, "AI_DownloadError")) {
    return nonsense("answered with an address from which its provider can't fetch", thrown);
  }
  // OpenAI-compatible providers report so that no more came.
  if (isNamed(thrown, "AI_InvalidResponseDataError") && "data" in thrown && !thrown.data) {
    return noReason(thrown);
  }
  if (patienceOver.test(thrown.message)) {
    // The vendor may still be at it, and wants money for it.
    const options = { retry: "never", cause: thrown } as const;
    return new LintelError("timeout", "the model server took too long", options);
  }
  return reportedIn(thrown) ?? notUnderstood(thrown);
}

/** Which option a provider does not take, and why, where it says so beside its words. */
function firstIssue(thrown: object): string {
  const { issues } =
    (causes(thrown) as { issues?: unknown }[]).find((one) => "issues" in one) ?? {};
  const [issue] = Array.isArray(issues) ? issues : [];
  if (!isObject(issue) || !Array.isArray(issue.path)) return "";
  return `: ${issue.path.join(".")}: ${string(issue.message)}`;
}

/** What providers say who asked for a job's end long enough. */
const patienceOver = /\b(?:timed out|did not complete after \d+ polling attempts)\b/;

/** The error for a stream that ended, though nobody said why. */
export const noReason = (cause?: unknown): LintelError => brokenOff(cause, "no finish reason");

/** What a server reports in a form that is not its vendor's: the provider has it as a value of the wrong type. */
const reportedIn = (thrown: Error & { readonly value?: unknown }): LintelError | undefined =>
  isNamed(thrown, "AI_TypeValidationError") ? reportedBy(thrown.value) : undefined;

/** What a provider stumbled over, where that is an event that its vendor's form does not foresee. */
function unforeseen(thrown: unknown): JsonObject | undefined {
  if (!(thrown instanceof Error) || !isNamed(thrown, "AI_TypeValidationError")) return undefined;
  return "value" in thrown && isObject(thrown.value) ? thrown.value : undefined;
}

/** Whether a provider stumbled over Anthropic's sign of life, which proxies pass into streams of other forms. */
export const isPing = (thrown: unknown): boolean => unforeseen(thrown)?.type === "ping";

/** Whether an event as it came begins a message of Anthropic's. */
export const beginsMessage = (raw: unknown): boolean =>
  isObject(raw) && raw.type === "message_start";

/**
 * Whether a provider stumbled over an event of such a message that is newer than it, or is about a
 * newer kind of block: Anthropic adds them in one version of its API. What brings text or calls a
 * tool, or tells how a message ends, is none.
 */
export function isNewer(thrown: unknown): boolean {
  const { type, content_block, delta } = unforeseen(thrown) ?? {};
  if (type === "content_block_start") return isOther(content_block, ["text", "tool_use"]);
  if (type === "content_block_delta") return isOther(delta, ["text_delta", "input_json_delta"]);
  return typeof type === "string" && !/^(?:message_|error$)/.test(type);
}

const isOther = (part: unknown, types: readonly string[]): boolean =>
  isObject(part) && typeof part.type === "string" && !types.includes(part.type);

/**
 * The failure that an answer or an event tells of as it came: providers leave out what their
 * vendor's form has no place for, such as an error's status, or all of an error in a choice.
 */
export function reportedBy(raw: unknown): LintelError | undefined {
  // Google's OpenAI endpoint puts it into a list.
  const value = Array.isArray(raw) ? raw[0] : raw;
  if (!isObject(value)) return undefined;
  const failure = failureIn(ofEvent(value) ?? value);
  const choice = firstChoice(value);
  if (failure || !choice) return failure;
  try {
    readEnd(choice);
  } catch (thrown) {
    return thrown as LintelError;
  }
  return undefined;
}

/** What an event of Bedrock's, whose exceptions have a name and words, or of the Responses API says of a failure. */
function ofEvent(event: JsonObject): JsonObject | undefined {
  if (event.type === "response.failed" && isObject(event.response)) return event.response;
  // It is alone in its event, of which there are many.
  for (const name in event) {
    const error = name.endsWith("Exception") && event[name];
    return isObject(error) ? { error: { ...error, type: name } } : undefined;
  }
  return undefined;
}

/**
 * What the vendor answered, where it is what a provider threw, or the provider itself of what it does
 * not know; else nothing that could be read.
 */
export function refusalIn(thrown: unknown): { readonly status: number; readonly body: string } {
  if (isApiCall(thrown)) {
    const { statusCode = 0, responseBody = "" } = thrown;
    return { status: statusCode, body: responseBody };
  }
  if (!isUnsupported(thrown)) return { status: 0, body: "" };
  return { status: 400, body: JSON.stringify({ error: { message: thrown.message } }) };
}

const isUnsupported = (thrown: unknown): thrown is Error =>
  thrown instanceof Error && isNamed(thrown, "AI_UnsupportedFunctionalityError");

const isApiCall = (thrown: unknown): thrown is APICallError =>
  typeof thrown === "object" && thrown !== null && isNamed(thrown, "AI_APICallError");

function ofApiCall(error: APICallError): LintelError {
  const { statusCode, message, responseHeaders = {}, responseBody = "" } = error;
  if (statusCode === undefined) {
    // OpenAI's provider has no status for a stream of another API than the one that it asked.
    return error.responseHeaders ? notUnderstood(error) : unreachable(error);
  }
  if (statusCode < 300) {
    return (
      reportedBy(parseJson(responseBody)) ??
      (isConnection(error) || isCutShort(responseBody)
        ? brokenOff(error)
        : nonsense("answered with something that can't be read", error))
    );
  }
  // Anthropic's provider knows overload in a stream's first event, and calls all else a 500.
  const made = statusCode === 500 && /event-stream/i.test(responseHeaders["content-type"] ?? "");
  const status = made ? statusOf(parseJson(responseBody), message) : undefined;
  // A provider knows one form of its vendor's errors, and its own words are for no other.
  return failureOfAnswer(status ?? statusCode, responseBody, responseHeaders, message);
}

/** The operating system's codes, undici's, and those of Node's own and of proxies that are about the connection. */
const connectionCode = /^(?:E(?!RR_)|UND_ERR_|ERR_(?:TLS|SSL|PROXY)_)/;

const isConnection = (error: Error) =>
  causes(error).some(({ code }) => connectionCode.test(String(code ?? "")));

const notUnderstood = (cause: unknown) =>
  nonsense("answered with something that its provider does not understand", cause);

const unreachable = (cause: unknown) =>
  new LintelError("upstream_unreachable", "the model server can't be reached", { cause });

/** An error, and what is behind it. */
function causes(thrown: unknown): (Error & { code?: unknown })[] {
  const found: (Error & { code?: unknown })[] = [];
  for (let at = thrown; at instanceof Error && found.length < 8; at = at.cause) found.push(at);
  return found;
}
