/** What models think, as OpenAI-compatible servers write it and want it back. */
import type { LLMMessage, LLMRequest } from "../../../gen/lintel/v1/chat_pb.js";
import { isObject, type JsonObject, jsonOf } from "../../core/json.js";
import { detailsIn, type Reasoning, reasoningOf } from "../../core/reasoning.js";
import { word } from "../http/json.js";

/** Says in requests how much to think: of those that have it a server may refuse it. */
export const effort = "reasoning_effort";

/**
 * Stands for thinking in a request with tools: OpenAI's newer models do not in chat completions, and since GPT-5.6
 * want to hear so.
 */
export const thinkingBesideTools = "reasoning_effort beside tools";

/** Whether there may be any. */
export const thinksBesideTools = ({ tools, reasoningEffort }: LLMRequest): boolean =>
  tools.length > 0 && reasoningEffort !== "none";

/** Stands for thoughts in messages that a server refused, by their usual name. */
export const thoughts = "reasoning_content in messages";

/** The same by their other name. */
export const otherThoughts = "reasoning in messages";

/** Stands for what a server wants to see again of thoughts, where it refused that as not its own. */
export const signedThoughts = "reasoning_details in messages";

/** Stands for summaries of thoughts, which OpenAI shows to some accounts only. */
export const summaries = "reasoning.summary";

/** Stands for messages without thoughts, where a server refused those. */
export const missingThoughts = "messages without reasoning_content";

/** Thoughts in messages, in the words of Groq, Cerebras, Mistral, xAI's and others' checks of what they are sent. */
const refusesThoughts = (name: string) =>
  new RegExp(
    `\\b${name}\\b(?!.{0,80}\\b(?:missing|must)\\b).*?\\b(?:unsupported|not (?:supported|permitted|allowed)|extra_forbidden|unknown|unexpected|unrecognized)|\\b(?:unknown|unexpected|unrecognized|extra)\\b.{0,80}\\b${name}\\b`,
    "is",
  );

/** Messages that have lost their thoughts, in the words of DeepSeek, Moonshot and LiteLLM. */
const wantsThoughts =
  /\breasoning_content\b.{0,80}\b(?:is missing|must be passed back)|\b(?:missing|must include)\b.{0,20}\breasoning_content\b/i;

/** Signatures and encrypted thoughts of another account or model, in the words of Anthropic, OpenAI and Google. */
const refusesSigned =
  /invalid\W+signature\W+in\W+thinking|thinking\W+blocks?\b.{0,80}\bcannot be modified|encrypted.content\b.{0,120}\bcould not be (?:verified|decrypted)|invalid_encrypted_content|thought.signature is not valid|(?:corrupted|invalid) thought.signature/is;

/** What is refused of thoughts in words of its own; of thinking beside tools, in those of OpenAI. */
export const refusesOfThoughts: Readonly<Record<string, RegExp>> = {
  [signedThoughts]: refusesSigned,
  [missingThoughts]: wantsThoughts,
  [thoughts]: refusesThoughts("reasoning_(?:content|details)"),
  [otherThoughts]: refusesThoughts("reasoning"),
  [thinkingBesideTools]: /\btools with reasoning_effort are not supported\b/i,
};

/** What of a request's thoughts, and of how much there shall be of them, a server may refuse. */
export function thoughtsToRefuse({ messages, reasoningEffort }: LLMRequest): string[] {
  const said = messages.filter(({ role }) => role === "assistant");
  const told = said.some((it) => it.reasoningContent || it.reasoningDetails);
  const lost = said.some(({ reasoningContent }) => !reasoningContent);
  return [
    ...(reasoningEffort === "" ? [] : [effort]),
    ...(told ? [thoughts, otherThoughts] : []),
    ...(lost ? [missingThoughts] : []),
  ];
}

/**
 * What a message or a piece of one says of thoughts. DeepSeek, Qwen, Z.ai and llama.cpp have them in
 * `reasoning_content`, OpenRouter, Ollama, Groq and vLLM in `reasoning`, Mistral among the content.
 */
export function readThoughts(said: JsonObject): Reasoning | undefined {
  const { content, reasoning_content, reasoning, reasoning_details: details } = said;
  const text = word(reasoning_content) || word(reasoning) || thoughtsAmong(content);
  const kept = Array.isArray(details) ? detailsOf(details) : "";
  return text === "" && kept === "" ? undefined : reasoningOf(text, kept);
}

function detailsOf(details: readonly unknown[]): string {
  const again = details.filter(isObject);
  return again.length > 0 ? (jsonOf(again) ?? "") : "";
}

function thoughtsAmong(content: unknown): string {
  if (!Array.isArray(content)) return "";
  const parts = content.filter(isObject).filter(({ type }) => type === "thinking");
  return parts
    .flatMap(({ thinking }) => (Array.isArray(thinking) ? thinking : [{ text: thinking }]))
    .map((part) => (isObject(part) ? word(part.text) : ""))
    .join("");
}

const nothing: ReadonlySet<string> = new Set();

/**
 * The thoughts of an assistant's message, as the server takes them; nothing where it takes none.
 * @param refused what it has refused; absent: nothing
 */
export function thoughtFields(message: LLMMessage, refused: ReadonlySet<string> = nothing): object {
  const { role, reasoningContent: text, reasoningDetails = "" } = message;
  if (role !== "assistant") return {};
  if (refused.has(thoughts)) {
    return text && !refused.has(otherThoughts) ? { reasoning: text } : {};
  }
  // What is missing can't be made up, and what says nothing is refused, too.
  const told = text || (refused.has(missingThoughts) ? " " : undefined);
  const details = detailsIn(reasoningDetails);
  return {
    ...(told && { reasoning_content: told }),
    ...(details.length > 0 && { reasoning_details: details }),
  };
}
