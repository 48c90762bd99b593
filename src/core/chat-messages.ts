/**
 * Parts of completions, as backends give them and as the core hands them on.
 * Written out: `create` would cost more than all the rest of a piece.
 */
import type {
  ContentPart,
  CountTokensResponse,
  LLMChoice,
  LLMMessage,
  LLMTokenUsage,
  ToolCall,
} from "../../gen/lintel/v1/chat_pb.js";
import { markOf } from "./prompt-marks.js";
import type { Reasoning } from "./reasoning.js";

/** Shared by all messages that call no tool, and whose content is a text; never added to. */
const noCalls: ToolCall[] = [];
/** Also of what has no pictures. */
export const noParts: ContentPart[] = [];

/** A message of a text, or of calls of tools. */
export const messageOf = (role: string, content: string, toolCalls = noCalls): LLMMessage => ({
  $typeName: "lintel.v1.LLMMessage",
  role,
  content,
  toolCalls,
  toolCallId: "",
  parts: noParts,
  images: noParts,
});

/** A piece of a streamed completion. @param finishReason empty while it goes on */
export function deltaChoice(content: string, finishReason: string, toolCalls = noCalls): LLMChoice {
  return {
    $typeName: "lintel.v1.LLMChoice",
    index: 0,
    finishReason,
    delta: messageOf("assistant", content, toolCalls),
  };
}

/** A whole completion. */
export function messageChoice(
  content: string,
  finishReason: string,
  toolCalls = noCalls,
  reasoning?: Reasoning,
  images = noParts,
): LLMChoice {
  const message = messageOf("assistant", content, toolCalls);
  message.images = images;
  return {
    $typeName: "lintel.v1.LLMChoice",
    index: 0,
    finishReason,
    message: reasoning ? Object.assign(message, reasoning) : message,
  };
}

/** The last choice of a completion, with the text of `stop` that ended it; absent: none is told, and it stays as it is. */
export function stoppedBy(choice: LLMChoice, stopSequence: string | undefined): LLMChoice {
  if (stopSequence !== undefined) choice.stopSequence = stopSequence;
  return choice;
}

/** A part that is a text. */
export const textPart = (text: string): ContentPart => ({
  $typeName: "lintel.v1.ContentPart",
  type: "text",
  text,
});

/** What a message says in words, in its parts of text, too: what others have besides no model reads. */
export const textOf = ({ content, parts }: LLMMessage): string =>
  parts.length === 0
    ? content
    : parts.map(({ type, text = "" }) => (type === "text" ? text : "")).join("");

/** A message whose parts are all text with that in its content, and the mark at its end; any other as it is. */
export const inOneText = (message: LLMMessage): LLMMessage =>
  message.parts.every(({ type }) => type === "text")
    ? { ...message, content: textOf(message), parts: noParts, cacheControl: markOf(message) }
    : message;

/** Which of the tokens were in a cache, were written to one, and are thoughts; `undefined` where nobody tells. */
export type UsageDetails = Pick<
  LLMTokenUsage,
  "cachedTokens" | "cacheWriteTokens" | "cacheWrite1hTokens" | "reasoningTokens"
>;

/**
 * Such details; `undefined` where nobody tells any.
 * @param cacheWrite1hTokens of those written to a cache, those that are kept for an hour
 */
export function detailsOf(
  cachedTokens: number | undefined,
  cacheWriteTokens: number | undefined,
  reasoningTokens: number | undefined,
  cacheWrite1hTokens?: number | undefined,
): UsageDetails | undefined {
  const told = cachedTokens ?? cacheWriteTokens ?? reasoningTokens;
  if (told === undefined) return undefined;
  return { cachedTokens, cacheWriteTokens, cacheWrite1hTokens, reasoningTokens };
}

/** So many of all tokens, and no more than there are; `undefined` where nobody tells. */
export const partOf = (all: number, part: number | undefined): number | undefined =>
  part === undefined ? undefined : Math.min(part, all);

/** Counts of tokens, and their sum. */
export function tokenUsage(
  promptTokens: number,
  completionTokens: number,
  details?: UsageDetails,
): LLMTokenUsage {
  const usage: LLMTokenUsage = {
    $typeName: "lintel.v1.LLMTokenUsage",
    promptTokens,
    completionTokens,
    totalTokens: promptTokens + completionTokens,
  };
  return details ? Object.assign(usage, details) : usage;
}

/** A number of tokens, as backends tell it: the core says whose they are. */
export const tokenCount = (promptTokens: number, estimated = false): CountTokensResponse => ({
  $typeName: "lintel.v1.CountTokensResponse",
  model: "",
  promptTokens,
  estimated,
  warnings: [],
});
