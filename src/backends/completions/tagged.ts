/** Thoughts that a server leaves in the text, since nobody told it to take them out. */
import type { LLMRequest, LLMResponse } from "../../../gen/lintel/v1/chat_pb.js";
import { messageChoice } from "../../core/chat-messages.js";
import { reasoningOf } from "../../core/reasoning.js";
import { MarkedThoughts, thinkTags } from "../marked-thoughts.js";

/**
 * Where the text of an answer may begin with `<think>…</think>`: `auto`, with both tags; `begun`, also
 * with the second alone, since the template writes the first; `never`, nowhere.
 */
export type ThinkTags = "auto" | "begun" | "never";

/** What reads the text of one answer; `undefined`: all of it is said. */
export function tagged(
  tags: ThinkTags,
  { reasoningEffort }: Pick<LLMRequest, "reasoningEffort">,
): MarkedThoughts | undefined {
  if (tags === "never") return undefined;
  // A template that is told to begin no thoughts writes both tags, or none.
  return new MarkedThoughts(thinkTags, tags === "begun" && reasoningEffort !== "none");
}

/** A whole answer, the thoughts in its text taken out. One whose server tells them apart has none there. */
export function untagged(whole: LLMResponse, reader: MarkedThoughts | undefined): LLMResponse {
  const choice = whole.choices[0];
  const message = choice?.message;
  if (!reader || !message || message.reasoningContent || message.reasoningDetails) return whole;
  const [said, held] = [reader.push(message.content), reader.flush()];
  const text = said.text + held.text;
  if (text === message.content) return whole;
  const reasoning = reasoningOf(said.thought + held.thought);
  const { finishReason } = choice;
  return { ...whole, choices: [messageChoice(text, finishReason, message.toolCalls, reasoning)] };
}
