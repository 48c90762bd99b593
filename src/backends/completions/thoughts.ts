/** What models think, as OpenAI-compatible servers write it and want it back. */
import type { LLMMessage, LLMRequest } from "../../../gen/lintel/v1/chat_pb.js";
import { isObject, type JsonObject, jsonOf } from "../../core/json.js";
import { detailsIn, type Reasoning, reasoningOf } from "../../core/reasoning.js";
import { word } from "../http/json.js";

/** Says in requests how much to think: of those that have it a server may refuse it. */
export const effort = "reasoning_effort";

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
