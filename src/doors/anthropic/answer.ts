/** Answers of the Messages API: whole, and what stands in streams of them. */
import type {
  LLMMessage,
  LLMResponse,
  LLMTokenUsage,
  ToolCall,
} from "../../../gen/lintel/v1/chat_pb.js";
import { toJsonString } from "../../core/json-string.js";
import { argumentsText } from "../../core/tool-calls.js";
import { extras } from "../json/chat.js";
import { extraText } from "../json/drawn.js";
import { signatureOf } from "./signature.js";

/** Why a message ended, by the contract's reasons. */
const stopReasons: Readonly<Record<string, string>> = {
  stop: "end_turn",
  length: "max_tokens",
  tool_calls: "tool_use",
  content_filter: "refusal",
};

/** Why a message ended, and at which text of `stop_sequences`, where the model server tells: members of it. */
export const endText = (finishReason: string, stopSequence?: string): string =>
  stopSequence === undefined
    ? `"stop_reason":"${stopReasons[finishReason] ?? "end_turn"}","stop_sequence":null`
    : `"stop_reason":"stop_sequence","stop_sequence":${toJsonString(stopSequence)}`;

/** Whether a whole answer has pictures. */
export const hasImages = ({ choices: [choice] }: LLMResponse): boolean =>
  (choice?.message?.images.length ?? 0) > 0;

/** What callers are told of pictures: no answer of this API has a block for them. */
export const withoutImages =
  "content: answers of this form have no images, left out: images of the model";

/** What a message begins with. */
export const messageHead = ({ id, model }: Pick<LLMResponse, "id" | "model">): string =>
  `"id":"msg_${id.slice(id.indexOf("-") + 1)}","type":"message","role":"assistant","model":${toJsonString(model)}`;

/**
 * A whole answer as JSON text.
 * @param hidesThoughts whether of thoughts only the signature is told
 */
export function wholeMessage(
  response: LLMResponse,
  warnings: readonly string[],
  hidesThoughts = false,
): string {
  const { choices, usage, usageEstimated } = response;
  const { message, finishReason = "stop", stopSequence } = choices[0] ?? {};
  const content = message ? blocksOf(message, hidesThoughts).join(",") : "";
  return `{${messageHead(response)},"content":[${content}],${endText(finishReason, stopSequence)},"usage":${usageText(usage)}${extras(usageEstimated, warnings)}}`;
}

function blocksOf(message: LLMMessage, hidesThoughts: boolean) {
  const { content, toolCalls, reasoningContent = "", reasoningDetails = "" } = message;
  const [shown, hidden] = hidesThoughts ? ["", reasoningContent] : [reasoningContent, ""];
  const blocks: string[] = [];
  if (reasoningContent !== "" || reasoningDetails !== "") {
    blocks.push(thinkingBlock(shown, signatureOf(reasoningDetails, hidden)));
  }
  // Beside calls blanks alone are what templates have between them: no block of Anthropic's, who takes none.
  const says = toolCalls.length === 0 ? content !== "" : content.trim() !== "";
  if (says || (toolCalls.length === 0 && blocks.length === 0)) blocks.push(textBlock(content));
  return [...blocks, ...toolCalls.map((call) => toolBlock(call, argumentsText(call)))];
}

/** A text, as a block. */
export const textBlock = (text: string): string => `{"type":"text","text":${toJsonString(text)}}`;

/** Thoughts, as a block. */
export const thinkingBlock = (thinking: string, signature: string): string =>
  `{"type":"thinking","thinking":${toJsonString(thinking)},"signature":${toJsonString(signature)}}`;

/** A call of a tool, as a block. @param input its arguments, a JSON object as text */
export function toolBlock({ id, function: called, extraContent }: ToolCall, input: string): string {
  // What a server wants to see again: clients send blocks back as they came.
  const extra = extraText(extraContent);
  return `{"type":"tool_use","id":${toJsonString(id)},"name":${toJsonString(called?.name ?? "")},"input":${input}${extra}}`;
}

/** Counts of tokens: those of a prompt that were in a cache or written to one are none of the others. */
export function usageText(usage: LLMTokenUsage | undefined): string {
  const { promptTokens = 0, completionTokens = 0 } = usage ?? {};
  const { cachedTokens = 0, cacheWriteTokens = 0, reasoningTokens } = usage ?? {};
  const hour = usage?.cacheWrite1hTokens;
  const written =
    hour === undefined
      ? ""
      : `,"cache_creation":{"ephemeral_5m_input_tokens":${cacheWriteTokens - hour},"ephemeral_1h_input_tokens":${hour}}`;
  const thoughts =
    reasoningTokens === undefined
      ? ""
      : `,"output_tokens_details":{"thinking_tokens":${reasoningTokens}}`;
  return `{"input_tokens":${promptTokens - cachedTokens - cacheWriteTokens},"cache_creation_input_tokens":${cacheWriteTokens},"cache_read_input_tokens":${cachedTokens}${written},"output_tokens":${completionTokens}${thoughts}}`;
}
