/** Messages that say nothing, as some callers keep them: vendors refuse them. */
import type { LLMMessage } from "../../../../gen/lintel/v1/chat_pb.js";
import { usesTools } from "../../../core/tool-calls.js";

/** Stands among the fields that a server refused for messages without words. */
export const blankMessages = "blank messages";

/** Stands among them for calls without a text, which is null as OpenAI has it: an empty one goes in its place. */
export const nullContent = "calls whose content is null";

/** In the words of Ollama's cloud, of LM Studio, and of checks in Python, JavaScript and Rust. */
export const refusesNull =
  /invalid message content type: <nil>|\bcontent\b.{0,80}(?:(?:valid|a|be|not) string\b|(?:be|is|not|got|type:?|allow) (?:null|none|nil)\b)|\binvalid type: null\b/i;

/** Whether there are any in a conversation. */
export const hasNullContent = (messages: readonly LLMMessage[]): boolean =>
  messages.some(
    ({ toolCalls, content, parts }) => toolCalls.length > 0 && content === "" && parts.length === 0,
  );

/**
 * Messages without words, in those of Mistral (its templates' checks, too), Moonshot and Anthropic, and of llama.cpp, Anthropic and Mistral where
 * the last is one of the assistant's, which they would have to go on with.
 */
export const refusesBlank =
  /(?:must not|cannot) be empty|either content or tool_calls|must (?:be|have) non-empty|prefill is incompatible|support assistant message prefill|expected last role|invalid assistant message: role=/i;

/** The messages that say something; all of them where none does. */
export function withoutBlank(messages: readonly LLMMessage[]): readonly LLMMessage[] {
  const told = messages.filter(
    (message) =>
      message.content.trim() !== "" ||
      message.parts.length + message.images.length > 0 ||
      usesTools(message),
  );
  return told.length === 0 ? messages : told;
}
