/** How vendors count the tokens of prompts, by their own references. */
import type { JsonObject } from "../../core/json.js";

/** How a vendor counts. */
export interface Counts {
  /** How the path ends at which it answers, and how that ends at which it counts. */
  readonly paths: readonly [answers: string, counts: string];
  /** What it takes there, made of a request for an answer. */
  readonly body: (request: JsonObject) => JsonObject;
  /** What the number is called. */
  readonly field: string;
}

/** Of an object those members. */
const only =
  (...names: readonly string[]) =>
  (request: JsonObject): JsonObject =>
    Object.fromEntries(names.flatMap((name) => (name in request ? [[name, request[name]]] : [])));

/** Anthropic's, which refuses fields of the answer. */
export const anthropicCounts: Counts = {
  paths: ["/messages", "/messages/count_tokens"],
  body: only(
    ...["model", "messages", "system", "tools", "tool_choice", "thinking", "cache_control"],
    ...["output_config", "output_format", "mcp_servers", "context_management"],
  ),
  field: "input_tokens",
};

/** OpenAI's, of its Responses API. */
export const openaiCounts: Counts = {
  paths: ["/responses", "/responses/input_tokens"],
  body: only(
    ...["model", "input", "instructions", "tools", "tool_choice", "parallel_tool_calls"],
    ...["reasoning", "text", "truncation", "previous_response_id", "conversation"],
  ),
  field: "input_tokens",
};

/** Google's, which takes a request as a whole, with its model. */
export const googleCounts: Counts = {
  paths: [":generateContent", ":countTokens"],
  body: (request) => ({ generateContentRequest: request }),
  field: "totalTokens",
};
