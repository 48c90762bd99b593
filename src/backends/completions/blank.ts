/** Messages that say nothing, as some callers keep them: vendors refuse them. */
import type { LLMMessage } from "../../../gen/lintel/v1/chat_pb.js";
import { usesTools } from "../../core/tool-calls.js";

/** Stands among the fields that a server refused for messages without words. */
export const blankMessages = "blank messages";

/**
 * Messages without words, in those of Mistral, Moonshot and Anthropic, and of llama.cpp, Anthropic and Mistral where
 * the last is one of the assistant's, which they would have to go on with.
 */
export const refusesBlank =
  /(?:must not|cannot) be empty|either content or tool_calls|must (?:be|have) non-empty|prefill is incompatible|support assistant message prefill|expected last role/i;

/** The messages that say something; all of them where none does. */
export function withoutBlank(messages: readonly LLMMessage[]): readonly LLMMessage[] {
  const told = messages.filter(
    (message) => message.content.trim() !== "" || message.parts.length > 0 || usesTools(message),
  );
  return told.length === 0 ? messages : told;
}
