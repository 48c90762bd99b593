/**
 * Parts of completions, as backends give them and as the core hands them on.
 * Written out: `create` would cost more than all the rest of a piece.
 */
import type { LLMChoice, LLMTokenUsage } from "../../gen/lintel/v1/chat_pb.js";

/** A piece of a streamed completion. @param finishReason empty while it goes on */
export function deltaChoice(content: string, finishReason: string): LLMChoice {
  return {
    $typeName: "lintel.v1.LLMChoice",
    index: 0,
    finishReason,
    delta: { $typeName: "lintel.v1.LLMMessage", role: "assistant", content },
  };
}

/** A whole completion. */
export function messageChoice(content: string, finishReason: string): LLMChoice {
  return {
    $typeName: "lintel.v1.LLMChoice",
    index: 0,
    finishReason,
    message: { $typeName: "lintel.v1.LLMMessage", role: "assistant", content },
  };
}

/** Counts of tokens, and their sum. */
export function tokenUsage(promptTokens: number, completionTokens: number): LLMTokenUsage {
  return {
    $typeName: "lintel.v1.LLMTokenUsage",
    promptTokens,
    completionTokens,
    totalTokens: promptTokens + completionTokens,
  };
}
