/** Thoughts that a server leaves in the text, since nobody told it to take them out. */
import type { LLMChoice, LLMRequest, LLMResponse } from "../../../gen/lintel/v1/chat_pb.js";
import { deltaChoice, messageChoice, stoppedBy } from "../../core/chat-messages.js";
import { mostAhead, WaitingTokens, withLogprobs } from "../../core/logprobs.js";
import { reasoningChoice, reasoningOf } from "../../core/reasoning.js";
import { MarkedThoughts, thinkTags, thoughtTags } from "../marked-thoughts.js";

/**
 * Where the text of an answer may begin with `<think>…</think>`, of Gemini's models with `<thought>…</thought>`: `auto`, with both tags; `begun`, also
 * with the second alone, since the template writes the first; `never`, nowhere.
 */
export type ThinkTags = "auto" | "begun" | "never";

/** Gemini's models, not those that were trained on what it says: `Qwen3-8B-Gemini-2.5-Pro-Distill`. */
const gemini = /(?:^|\/)gemini/i;

/** What reads the text of one answer; `undefined`: all of it is said. */
export function tagged(
  tags: ThinkTags = "auto",
  { model, reasoningEffort }: Pick<LLMRequest, "model" | "reasoningEffort">,
): MarkedThoughts | undefined {
  if (tags === "never") return undefined;
  // A template that is told to begin no thoughts writes both tags, or none.
  const marks = gemini.test(model) ? thoughtTags : thinkTags;
  return new MarkedThoughts(marks, tags === "begun" && reasoningEffort !== "none");
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
  const { finishReason, stopSequence, logprobs } = choice;
  const told = messageChoice(text, finishReason, message.toolCalls, reasoning, message.images);
  const tokens = logprobs?.content;
  return { ...whole, choices: [withLogprobs(stoppedBy(told, stopSequence), tokens)] };
}

/**
 * Adds what a message of a stream says, the thoughts in its text taken out; of its tokens it tells nothing.
 * @returns what reads the text that comes; `undefined` once all of it is said
 */
export function untag(
  message: LLMResponse,
  reader: MarkedThoughts,
  out: LLMResponse[],
): MarkedThoughts | undefined {
  const choice = message.choices[0];
  const content = choice?.delta?.content ?? "";
  // What was held back is no tag where something else follows.
  const { thought, text } = content === "" ? reader.flush() : reader.push(content);
  if (thought !== "") out.push(withChoice(message, reasoningChoice(reasoningOf(thought))));
  if (text !== "") out.push(withChoice(message, deltaChoice(text, "")));
  if (content === "") out.push(message);
  return content === "" || reader.isAnswering ? undefined : reader;
}

const withChoice = (message: LLMResponse, choice: LLMChoice): LLMResponse => ({
  ...message,
  choices: [choice],
});

/** A stream, the thoughts in its text taken out. */
export async function* untaggedStream(
  stream: AsyncIterable<readonly LLMResponse[]>,
  reader: MarkedThoughts | undefined,
): AsyncGenerator<readonly LLMResponse[]> {
  let left = reader;
  let tokens: WaitingTokens | undefined;
  for await (const batch of stream) {
    const out: LLMResponse[] = [];
    for (const message of batch) {
      const from = out.length;
      const told = message.choices[0]?.logprobs;
      if (told) {
        tokens ??= new WaitingTokens(mostAhead);
        tokens.add(told.content);
      }
      if (left) left = untag(message, left, out);
      else out.push(message);
      tokens?.giveTo(out, from);
    }
    if (out.length > 0) yield out;
  }
}
