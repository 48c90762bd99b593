/** Fields that say how to answer, not what: they are no part of the message. */
import type { Violation } from "../../core/errors.js";
import { isObject, type JsonObject } from "../../core/json.js";
import { fields } from "./known.js";

/** How the client wants its answer. */
export interface AnswerForm {
  readonly stream: boolean;
  /** Whether the totals shall come as OpenAI sends them. */
  readonly includeUsage: boolean;
}

/** What is read for it. */
export const formFields = { stream: true, stream_options: fields({ include_usage: true }) };

/**
 * Reads `stream` and `stream_options`; `null` counts as not set.
 * @param into gets what has the wrong type
 */
export function answerForm(json: JsonObject, into: Violation[]): AnswerForm {
  const options = json.stream_options ?? {};
  if (!isObject(options)) into.push({ field: "stream_options", message: "must be an object" });
  return {
    stream: flag(json, "stream", "stream", into),
    includeUsage:
      isObject(options) && flag(options, "include_usage", "stream_options.include_usage", into),
  };
}

function flag(json: JsonObject, name: string, path: string, into: Violation[]): boolean {
  const value = json[name] ?? false;
  if (typeof value === "boolean") return value;
  into.push({ field: path, message: "must be true or false" });
  return false;
}
