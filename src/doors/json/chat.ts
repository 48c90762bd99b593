/** Chat completions as JSON: whole, and the members that chunks have, too. */
import type { LLMResponse, LLMTokenUsage, ToolCall } from "../../../gen/lintel/v1/chat_pb.js";
import { toJsonLine, toJsonString } from "../../core/json-string.js";
import { detailsIn, type Reasoning } from "../../core/reasoning.js";
import { extraText, imagesText } from "./drawn.js";
import { logprobsText } from "./logprobs.js";

/**
 * A whole answer as JSON text. Strings are never null and there is no `delta`: SDKs throw.
 * @param asOpenRouter whether thoughts stand in `reasoning`, too, and a `system_fingerprint` is there, which is null
 */
export function wholeChat(
  response: LLMResponse,
  warnings: readonly string[],
  asOpenRouter = false,
): string {
  const { id, created, model, choices, usage, usageEstimated, serviceTier } = response;
  // Only texts are left to JSON.stringify, which takes twice as long for the whole object.
  const text = choices.map(
    ({ index, message, finishReason, stopSequence, logprobs }) =>
      `{"index":${index},"message":{"role":"assistant","content":${JSON.stringify(message?.content ?? "")}${reasoningText(message, asOpenRouter)}${imagesText(message?.images)}${callsText(message?.toolCalls, false)}},"finish_reason":${JSON.stringify(finishReason)}${stopText(stopSequence)}${logprobsText(logprobs)}}`,
  );
  return `{"id":${JSON.stringify(id)},"object":"chat.completion","created":${created},"model":${JSON.stringify(model)},"choices":[${text.join(",")}],"usage":${usageText(usage)}${tierText(serviceTier)}${asOpenRouter ? noFingerprint : ""}${extras(usageEstimated, warnings)}}`;
}

const noFingerprint = ',"system_fingerprint":null';

/** Which tier served an answer, where that is told, as it follows other members. */
export const tierText = (tier: string | undefined): string =>
  tier === undefined ? "" : `,"service_tier":${toJsonString(tier)}`;

/** Which text of `stop` ended a choice, where that is told, as it follows other members. */
export const stopText = (stopSequence: string | undefined): string =>
  stopSequence === undefined ? "" : `,"stop_sequence":${toJsonString(stopSequence)}`;

/** `usage`, as far as it is known. */
export function usageText(usage: LLMTokenUsage | undefined): string {
  const { promptTokens = 0, completionTokens = 0, totalTokens = 0 } = usage ?? {};
  return `{"prompt_tokens":${promptTokens},"completion_tokens":${completionTokens},"total_tokens":${totalTokens}${detailsText(usage)}}`;
}

/** What a model server tells of the tokens besides, as it follows other members. */
function detailsText(usage: LLMTokenUsage | undefined): string {
  if (!usage) return "";
  const { reasoningTokens: thoughts } = usage;
  const prompt = promptDetails(usage);
  return thoughts === undefined
    ? prompt
    : `${prompt},"completion_tokens_details":{"reasoning_tokens":${thoughts}}`;
}

function promptDetails(usage: LLMTokenUsage): string {
  const { cachedTokens: cached, cacheWriteTokens: written, cacheWrite1hTokens: hour } = usage;
  if (written === undefined) {
    return cached === undefined ? "" : `,"prompt_tokens_details":{"cached_tokens":${cached}}`;
  }
  const read = cached === undefined ? "" : `"cached_tokens":${cached},`;
  const kept = hour === undefined ? "" : `,"cache_write_1h_tokens":${hour}`;
  return `,"prompt_tokens_details":{${read}"cache_write_tokens":${written}${kept}}`;
}

/**
 * What the model thought, where it says so, as it follows other members.
 * @param twice whether it stands in `reasoning`, too, as OpenRouter and vLLM have it
 */
export function reasoningText(
  { reasoningContent, reasoningDetails }: Reasoning = {},
  twice = false,
): string {
  if (!reasoningContent && !reasoningDetails) return "";
  const text = reasoningContent ? JSON.stringify(reasoningContent) : "";
  const again = twice ? `,"reasoning":${text}` : "";
  const said = text === "" ? "" : `,"reasoning_content":${text}${again}`;
  const details = detailsIn(reasoningDetails ?? "");
  return details.length > 0 ? `${said},"reasoning_details":${toJsonLine(details)}` : said;
}

/** Type of a call whose `arguments` are a text, as OpenAI's custom tools have it. The core knows none. */
export const customType = "custom";

/** `tool_calls`, where there are any, as they follow other members. @param inPieces as they stand in a stream */
export function callsText(calls: readonly ToolCall[] = [], inPieces: boolean): string {
  if (calls.length === 0) return "";
  return `,"tool_calls":[${calls.map((call) => callText(call, inPieces)).join(",")}]`;
}

function callText(
  { index, id, type, function: called, extraContent }: ToolCall,
  inPieces: boolean,
): string {
  const { name = "", arguments: args = "" } = called ?? {};
  const first = id !== "";
  const place = inPieces ? `"index":${index},` : "";
  const begin = first ? `"id":${toJsonString(id)},"type":${toJsonString(type)},` : "";
  const named = first || name !== "" ? `"name":${toJsonString(name)},` : "";
  const [member, text] = type === customType ? ["custom", "input"] : ["function", "arguments"];
  return `{${place}${begin}"${member}":{${named}"${text}":${toJsonString(args)}}${extraText(extraContent)}}`;
}

/** Members that only stand where there is something to say, as they follow others. */
export function extras(estimated: boolean, warnings: readonly string[]): string {
  const counted = estimated ? ',"usage_estimated":true' : "";
  return warnings.length > 0 ? `${counted},"warnings":${toJsonLine(warnings)}` : counted;
}
