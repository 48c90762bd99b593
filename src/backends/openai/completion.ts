/** Reads completions as OpenAI-compatible servers write them. */
import type { LLMResponse, LLMTokenUsage } from "../../../gen/lintel/v1/chat_pb.js";
import { LintelError } from "../../core/errors.js";
import { failureIn, nonsense } from "../http/failure.js";
import { isObject, type JsonObject, parseJson, string, uint32 } from "../http/json.js";

/** A body or event as an object. @throws LintelError `upstream_failed` */
export function readObject(text: string): JsonObject {
  const value = parseJson(text);
  if (isObject(value)) return value;
  throw nonsense("answered with something that is not JSON", new Error(text.slice(0, 200)));
}

/**
 * Reads a whole completion.
 * @throws LintelError as the server reports it, or `upstream_failed`
 */
export function readCompletion(text: string): LLMResponse {
  const answer = readObject(text);
  const failure = failureIn(answer);
  if (failure) throw failure;
  const choice = firstChoice(answer);
  if (!choice || !isObject(choice.message)) throw nonsense("answered without a completion");
  const { id, model, created } = stampOf(answer);
  return {
    $typeName: "lintel.v1.LLMResponse",
    id,
    model,
    created,
    usageEstimated: false,
    warnings: [],
    usage: readUsage(answer.usage),
    choices: [
      {
        $typeName: "lintel.v1.LLMChoice",
        index: 0,
        // Ollama and others leave it null in whole answers that are complete.
        finishReason: readFinishReason(choice.finish_reason) ?? "stop",
        message: {
          $typeName: "lintel.v1.LLMMessage",
          role: "assistant",
          content: readContent(choice.message.content),
        },
      },
    ],
  };
}

/** The one choice that was asked for. Servers number it 0, leave the number out, or send none. */
export function firstChoice(answer: JsonObject): JsonObject | undefined {
  const { choices } = answer;
  if (!Array.isArray(choices)) return undefined;
  return choices.find(isFirst);
}

const isFirst = (choice: unknown) => isObject(choice) && (choice.index ?? 0) === 0;

/** What every message carries of the answer. The caller adds usage and choices. */
export function stampOf(answer: JsonObject): Omit<LLMResponse, "usage" | "choices"> {
  return {
    $typeName: "lintel.v1.LLMResponse",
    id: string(answer.id),
    model: string(answer.model),
    created: uint32(answer.created),
    usageEstimated: false,
    warnings: [],
  };
}

/** Token counts; `undefined` where there are none, or nothing but zeros. */
export function readUsage(usage: unknown): LLMTokenUsage | undefined {
  if (!isObject(usage)) return undefined;
  const promptTokens = uint32(usage.prompt_tokens);
  const completionTokens = uint32(usage.completion_tokens);
  if (promptTokens + completionTokens === 0) return undefined;
  return {
    $typeName: "lintel.v1.LLMTokenUsage",
    promptTokens,
    completionTokens,
    totalTokens: uint32(usage.total_tokens) || promptTokens + completionTokens,
  };
}

/** Text of a message. It can be null (SGLang), and a list of parts (Mistral). */
export function readContent(content: unknown): string {
  if (!Array.isArray(content)) return string(content);
  return content.map((part) => (isObject(part) ? string(part.text) : "")).join("");
}

const finishReasons = new Map([
  ["stop", "stop"],
  ["length", "length"],
  ["content_filter", "content_filter"],
  ["tool_calls", "tool_calls"],
  ["function_call", "tool_calls"],
]);

/**
 * Why the server stopped; `undefined` while it goes on. A reason that nobody knows is `stop`.
 * @throws LintelError `upstream_failed` where vLLM, SGLang or OpenRouter say that they gave up
 */
export function readFinishReason(reason: unknown): string | undefined {
  if (typeof reason !== "string" || reason === "") return undefined;
  if (reason === "error" || reason === "abort") {
    throw new LintelError("upstream_failed", "the model server gave up on the completion");
  }
  return finishReasons.get(reason) ?? "stop";
}
