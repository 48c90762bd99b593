/** In which words servers tell that a conversation is longer than their model holds. */
import { overflow } from "../../core/errors.js";
import type { JsonObject } from "../../core/json.js";

/**
 * OpenAI's, vLLM's, SGLang's, DeepSeek's, OpenRouter's and Mistral's; xAI's; llama.cpp's; LM Studio's, who has
 * nothing but words for it; MiniMax's; Anthropic's, Bedrock's, Fireworks' and Ollama's; Google's; Moonshot's; Text
 * Generation Inference's and Together AI's; Groq's and Cerebras'; Alibaba's; Z.ai's.
 */
const tooLong = new RegExp(
  [
    "(?:exceed\\w*|(?:greater|larger|longer) than) (?:[\\w']+ ){0,3}context (?:length|size|window|limit)",
    "context (?:length|size|window) (?:of [^.]*not enough|(?:(?:is|was|has been) )?exceed)",
    "prompt \\([\\w ]+\\) is (?:too long|longer than the maximum model length)",
    "maximum (?:context|prompt) length|n_keep\\b.*>= *n_ctx|(?:prompt|input) (?:is |was )?too long",
    "input token count .{0,20}exceeds the maximum number|exceeded model token limit",
    "`inputs` (?:tokens \\+ `max_new_tokens` must be <=|must have less than \\d+ tokens)",
    "reduce the length of the messages|range of input length should be|prompt exceeds max length",
  ].join("|"),
  "i",
);

/** Whether a server's message says so: in its first line, and not in what it quotes, which may be the caller's. */
export function saysTooLong(said: string): boolean {
  const [line = ""] = said.slice(0, 400).split("\n", 1);
  return tooLong.test(line.replaceAll(/"[^"]*"?/g, ""));
}

/** Statuses that it comes with. */
const statuses: ReadonlySet<number> = new Set([400, 413, 422]);

/** Codes and types: OpenAI's, which many have, and llama.cpp's. */
const names: ReadonlySet<unknown> = new Set([overflow, "exceed_context_size_error"]);

/**
 * Whether a server says with a status for bad requests that the conversation is too long for its model.
 * @param errors that it tells of
 * @param said its message
 */
export function overflows(status: number, errors: readonly JsonObject[], said: string): boolean {
  if (!statuses.has(status)) return false;
  return saysTooLong(said) || errors.some(({ code, type }) => names.has(code) || names.has(type));
}
