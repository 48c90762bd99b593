/** Answers repeat their requests. */
import { isObject, type JsonObject } from "../../../core/json.js";
import { toJsonLine } from "../../../core/json-string.js";
import { asWritten } from "../../../core/long-numbers.js";
import type { Namespaces } from "./namespaces.js";
import type { Loads } from "./tool-search.js";

/** What an answer repeats of its request. */
export interface Echo {
  /** Members of the answer, as text. */
  readonly members: string;
  /** Whether what is said is JSON, which clients read from one item. */
  readonly inJson: boolean;
  /** Whose names are those of models: calls of them have the client's. */
  readonly namespaces: Namespaces;
  /** What is to be told before the first call of a tool. */
  readonly loads: Loads;
}

/**
 * The members of an answer that a request says, as text, so that the request is not kept for as
 * long as the answer runs. Where it is none that can be answered, whatever stands there.
 * @param tools those that are offered, as the client wrote them
 */
export function membersOf(json: JsonObject, tools: readonly unknown[]): string {
  const { text, tool_choice: choice } = json;
  const { format, verbosity } = (text ?? {}) as JsonObject;
  const thinking = isObject(json.reasoning) ? json.reasoning : {};
  try {
    const said = toJsonLine({
      instructions: json.instructions ?? null,
      max_output_tokens: json.max_output_tokens ?? json.max_tokens ?? null,
      metadata: json.metadata ?? {},
      parallel_tool_calls: json.parallel_tool_calls ?? true,
      previous_response_id: null,
      reasoning: {
        effort: thinking.effort ?? null,
        summary: thinking.summary ?? thinking.generate_summary ?? null,
      },
      // Nothing is kept, whatever was asked for.
      store: false,
      temperature: json.temperature ?? null,
      text: { format: format ?? { type: "text" }, verbosity: verbosity ?? undefined },
      tool_choice: choice ?? "auto",
      tools,
      top_p: json.top_p ?? null,
      truncation: "disabled",
    });
    return asWritten(said).slice(1, -1);
  } catch {
    // Nested too deeply for the stack: the core refuses it.
    return "";
  }
}
