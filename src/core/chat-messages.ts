/**
 * Parts of completions, as backends give them and as the core hands them on.
 * Written out: `create` would cost more than all the rest of a piece.
 */
import type {
  ContentPart,
  LLMChoice,
  LLMMessage,
  LLMTokenUsage,
  ToolCall,
} from "../../gen/lintel/v1/chat_pb.js";

/** Shared by all messages that call no tool, and whose content is a text; never added to. */
const noCalls: ToolCall[] = [];
const noParts: ContentPart[] = [];

/** A message of a text, or of calls of tools. */
export const messageOf = (role: string, content: string, toolCalls = noCalls): LLMMessage => ({
  $typeName: "lintel.v1.LLMMessage",
  role,
  content,
  toolCalls,
  toolCallId: "",
  parts: noParts,
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
): LLMChoice {
  return {
    $typeName: "lintel.v1.LLMChoice",
    index: 0,
    finishReason,
    message: messageOf("assistant", content, toolCalls),
  };
}

/** What a message says in words, in its parts, too. */
export const textOf = ({ content, parts }: LLMMessage): string =>
  parts.length === 0 ? content : parts.map(({ text = "" }) => text).join("");

/** Counts of tokens, and their sum. */
export function tokenUsage(promptTokens: number, completionTokens: number): LLMTokenUsage {
  return {
    $typeName: "lintel.v1.LLMTokenUsage",
    promptTokens,
    completionTokens,
    totalTokens: promptTokens + completionTokens,
  };
}
