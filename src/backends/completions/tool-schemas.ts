/** What is said of tools, and of an answer's form, beside their schemas, which only some servers take. */
import type { LLMRequest } from "../../../gen/lintel/v1/chat_pb.js";

/** Stands among what a server refused for tools without parameters: it is told that these are an object without any. */
export const bareTools = "tools without parameters";

/** Stands there for `strict`, which is left out. */
export const strictness = "strict";

/** In the words of Mistral and TabbyAPI, and of the checks of servers in Python and Rust. */
export const refusesToolSchemas: Readonly<Record<string, RegExp>> = {
  [bareTools]: /\bparameters\b.{0,60}\b(?:required|missing)\b|missing field .parameters\b/is,
  [strictness]:
    /\bstrict\b.{0,60}\b(?:not (?:permitted|supported|allowed)|extra_forbidden|un(?:known|expected|supported|recognized))\b|\b(?:un(?:known|expected|supported|recognized)|extra)\b.{0,60}\bstrict\b/is,
};

/** Which of these a request has. */
export function toolSchemasToRefuse({ tools, responseFormat }: LLMRequest): string[] {
  const isStrict =
    tools.some((tool) => tool.function?.strict !== undefined) ||
    responseFormat?.jsonSchema?.strict !== undefined;
  return [
    ...(tools.some((tool) => !tool.function?.parameters) ? [bareTools] : []),
    ...(isStrict ? [strictness] : []),
  ];
}
