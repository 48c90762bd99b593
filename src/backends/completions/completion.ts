/** Reads completions as OpenAI-compatible servers write them. */
import type { ContentPart, LLMResponse, LLMTokenUsage } from "../../../gen/lintel/v1/chat_pb.js";
import {
  detailsOf,
  messageChoice,
  noParts,
  partOf,
  stoppedBy,
  tokenUsage,
  type UsageDetails,
} from "../../core/chat-messages.js";
import type { LintelError } from "../../core/errors.js";
import { isObject, type JsonObject, jsonOf, parseJson } from "../../core/json.js";
import { withLogprobs } from "../../core/logprobs.js";
import { saidIn, soleObject } from "../http/error-body.js";
import { failureIn, nonsense, notJson } from "../http/failure.js";
import { string, uint32, word } from "../http/json.js";
import { readCalls } from "./calls.js";
import { readImages } from "./images.js";
import { LeftOut } from "./left-out.js";
import { readLogprobs } from "./logprobs.js";
import { readThoughts } from "./thoughts.js";

/** A body or event as an object; some have their errors in a list of one. @throws LintelError `upstream_failed` */
export function readObject(text: string): JsonObject {
  const value = soleObject(parseJson(text)) ?? soleObject(parseJson(withoutInfinity(text)));
  if (value) return value;
  throw notJson(text);
}

/** Python writes numbers that JSON does not have, of tokens that can't be there: they are null. */
const withoutInfinity = (text: string): string =>
  /\b(?:Infinity|NaN)\b/.test(text)
    ? text.replace(/"(?:[^"\\]|\\.)*(?:"|$)|-?\b(?:Infinity|NaN)\b/gs, (found) =>
        found.startsWith('"') ? found : "null",
      )
    : "";

/**
 * Reads a whole completion.
 * @throws LintelError as the server reports it, or `upstream_failed`
 */
export function readCompletion(text: string): LLMResponse {
  const answer = readObject(text);
  const failure = failureIn(answer);
  if (failure) throw failure;
  const choice = firstChoice(answer);
  const finishReason = choice && readEnd(choice);
  const stopSequence = choice && readStop(choice);
  // Livepeer's workers and others have it in `delta`. Gemini has none where all went into
  // thoughts, or a filter came first: the reason says so.
  const message = choice?.message ?? choice?.delta ?? (finishReason && {});
  if (!isObject(message)) {
    const said = saidIn(answer);
    const cause = said === "" ? undefined : new Error(said);
    // Gemini and LiteLLM have it, too, where the model gave nothing: another target may.
    throw nonsense("answered without a completion", cause, "elsewhere");
  }
  const { id, model, created } = stampOf(answer);
  const { images, warnings } = besideText(answer);
  const told = messageChoice(
    readText(message),
    // Ollama and others leave the reason null in whole answers that are complete.
    finishReason ?? "stop",
    readCalls(message),
    readThoughts(message),
    images,
  );
  const whole: LLMResponse = {
    $typeName: "lintel.v1.LLMResponse",
    id,
    model,
    created,
    usageEstimated: isEstimated(answer),
    warnings,
    usage: readUsage(answer.usage),
    choices: [withLogprobs(stoppedBy(told, stopSequence), choice && readLogprobs(choice))],
  };
  return servedIn(whole, readTier(answer));
}

/** Which tier of service an answer or a chunk says that it had; `undefined`: it says nothing of it. */
export const readTier = ({ service_tier: tier }: JsonObject): string | undefined =>
  string(tier) || undefined;

/** An answer with the tier of service that it had; absent: none is told, and it stays as it is. */
export function servedIn(answer: LLMResponse, tier: string | undefined): LLMResponse {
  if (tier !== undefined) answer.serviceTier = tier;
  return answer;
}

/** The one choice that was asked for. Servers number it 0, leave the number out, or send none. */
export function firstChoice(answer: JsonObject): JsonObject | undefined {
  const { choices } = answer;
  if (!Array.isArray(choices)) return undefined;
  return choices.find(isFirst);
}

const isFirst = (choice: unknown) => isObject(choice) && (choice.index ?? 0) === 0;

/** Pictures of a whole answer, and what callers are told of what else it has: vLLM-Omni has both in further choices of the same number. */
function besideText({ choices }: JsonObject): { images: ContentPart[]; warnings: string[] } {
  const left = new LeftOut();
  let images = noParts;
  for (const choice of Array.isArray(choices) ? choices.filter(isFirst) : []) {
    const message = choice.message ?? choice.delta;
    if (!isObject(message)) continue;
    left.ofMessage(message);
    images = [...images, ...readImages(message, left)];
  }
  return { images, warnings: left.warnings() };
}

/** What every message carries of the answer. The caller adds usage and choices. */
export function stampOf(answer: JsonObject): Omit<LLMResponse, "usage" | "choices"> {
  return {
    $typeName: "lintel.v1.LLMResponse",
    id: string(answer.id),
    model: string(answer.model),
    created: uint32(answer.created),
    usageEstimated: false,
    warnings: [],
  };
}

/** Whether the usage is an estimate: a Lintel says so of servers that report none. */
export const isEstimated = (answer: JsonObject): boolean => answer.usage_estimated === true;

/** Token counts; `undefined` where there are none, or nothing but zeros. */
export function readUsage(usage: unknown): LLMTokenUsage | undefined {
  if (!isObject(usage)) return undefined;
  const { prompt_tokens, completion_tokens, total_tokens } = usage;
  return usageOf(
    uint32(prompt_tokens),
    uint32(completion_tokens),
    uint32(total_tokens),
    readUsageDetails(usage),
  );
}

/** Which tokens were in a cache, were written to one, and are thoughts, in `usage`; nothing where that is not told. */
export const readUsageDetails = (usage: JsonObject): UsageDetails | undefined =>
  detailsOf(cachedIn(usage), writtenIn(usage), thoughtsIn(usage), writtenForAnHourIn(usage));

/** Of the prompt's tokens those in a cache: DeepSeek and Moonshot have a name of their own for them. */
const cachedIn = (usage: JsonObject) =>
  countIn(usage.prompt_tokens_details, "cached_tokens") ??
  countIn(usage, "prompt_cache_hit_tokens") ??
  countIn(usage, "cached_tokens");

/** Of the prompt's tokens those written to a cache: LiteLLM has names of its own for them, and Anthropic's beside. */
const writtenIn = (usage: JsonObject) =>
  countIn(usage.prompt_tokens_details, "cache_write_tokens") ??
  countIn(usage.prompt_tokens_details, "cache_creation_tokens") ??
  countIn(usage, "cache_creation_input_tokens");

/**
 * Of those the ones that are kept for an hour, in any of the forms in which `usage` may tell them: a Lintel's, LiteLLM's,
 * Anthropic's and Bedrock's.
 */
export function writtenForAnHourIn(usage: JsonObject): number | undefined {
  const { prompt_tokens_details: details, cacheDetails: all } = usage;
  const ofLiteLlm = isObject(details) ? details.cache_creation_token_details : undefined;
  const ofBedrock = Array.isArray(all) ? all.find((one) => isObject(one) && one.ttl === "1h") : {};
  return (
    countIn(details, "cache_write_1h_tokens") ??
    countIn(ofLiteLlm, "ephemeral_1h_input_tokens") ??
    countIn(usage.cache_creation, "ephemeral_1h_input_tokens") ??
    countIn(ofBedrock, "inputTokens")
  );
}

/** Of the completion's tokens those of thoughts: SGLang has them beside the others. */
const thoughtsIn = (usage: JsonObject) =>
  countIn(usage.completion_tokens_details, "reasoning_tokens") ??
  countIn(usage, "reasoning_tokens");

const countIn = (counts: unknown, name: string): number | undefined =>
  isObject(counts) && typeof counts[name] === "number" ? uint32(counts[name]) : undefined;

/**
 * Token counts that add up; `undefined` for nothing but zeros, and for more than there are numbers.
 * @param counted of the prompt; where it is 0, which no prompt is, what is more in the total is the prompt's
 * @param total may have more: xAI and Gemini count reasoning nowhere else
 * @param details of both, which are no more than all of them
 */
export function usageOf(
  counted: number,
  said: number,
  total: number,
  details?: UsageDetails,
): LLMTokenUsage | undefined {
  const prompt = counted === 0 && said > 0 ? Math.max(0, total - said) : counted;
  const completionTokens = Math.max(said, total - prompt);
  if (prompt + said === 0 || uint32(prompt + completionTokens) === 0) return undefined;
  return tokenUsage(prompt, completionTokens, details && within(details, prompt, completionTokens));
}

function within(details: UsageDetails, prompt: number, completion: number) {
  const cached = partOf(prompt, details.cachedTokens);
  const written = partOf(prompt - (cached ?? 0), details.cacheWriteTokens);
  const hour = partOf(written ?? 0, details.cacheWrite1hTokens);
  return detailsOf(cached, written, partOf(completion, details.reasoningTokens), hour);
}

/** Text of a message or of a piece of one. OpenAI says in `refusal` why it says nothing else. */
export const readText = ({ content, refusal }: JsonObject): string =>
  readContent(content) + string(refusal);

/** It can be null (SGLang), a list of parts (Mistral), and the object itself where JSON was asked for (Workers AI). */
function readContent(content: unknown): string {
  if (isObject(content)) return jsonOf(content) ?? "";
  if (!Array.isArray(content)) return word(content);
  return content.map((part) => (isObject(part) ? word(part.text) : "")).join("");
}

/** What reasons mean; all others are `stop`. */
const finishReasons: readonly (readonly [RegExp, string])[] = [
  [/^(?:length|max_(?:output_)?tokens|model_length|model_context_window_exceeded)$/i, "length"],
  [
    /^(?:content_filter.*|safety|sensitive|model_armor|(?:image_)?(?:safety|recitation|prohibited_content))$/i,
    "content_filter",
  ],
  [/^(?:tool_calls|function_call)$/i, "tool_calls"],
];

/** Reasons of vLLM, SGLang, OpenRouter, DeepSeek, Z.ai, Cohere and Bedrock for half a completion. */
const failures =
  /^(?:abort|insufficient_system_resource|(?:.*_)?error|timeout|malformed_(?:model_output|tool_use))$/i;

/**
 * Why the server stopped; `undefined` while it goes on. A reason that nobody knows is `stop`.
 * @throws LintelError `upstream_failed` where it says that it gave up
 */
export function readFinishReason(reason: unknown): string | undefined {
  if (typeof reason !== "string" || reason === "") return undefined;
  if (reason === "stop") return reason;
  if (failures.test(reason)) throw gaveUp(reason);
  return finishReasons.find(([pattern]) => pattern.test(reason))?.[1] ?? "stop";
}

/**
 * Why a choice ended, as `readFinishReason`. Of a provider that failed OpenRouter tells in the
 * choice: by `error`, or beside a `stop` by the provider's own reason.
 * @throws LintelError as it is reported, or `upstream_failed`
 */
export function readEnd(choice: JsonObject): string | undefined {
  const failure = failureIn(choice);
  if (failure) throw failure;
  const reason = readFinishReason(choice.finish_reason);
  if (reason !== undefined) readFinishReason(choice.native_finish_reason);
  return reason;
}

/** The text at which it stopped, as Lintel, vLLM and SGLang tell it: the latter two also tokens, by their numbers. */
export function readStop(choice: JsonObject): string | undefined {
  const { stop_sequence, stop_reason, matched_stop } = choice;
  return string(stop_sequence || stop_reason || matched_stop) || undefined;
}

/** The error for a server that gave up, for whatever reason. */
export const gaveUp = (reason: string): LintelError =>
  nonsense("gave up on the completion", new Error(`finish reason ${reason.slice(0, 200)}`));
