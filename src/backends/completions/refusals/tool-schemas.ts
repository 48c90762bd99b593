/** What is said of tools, and of an answer's form, beside their schemas, which only some servers take. */
import type { LLMRequest } from "../../../../gen/lintel/v1/chat_pb.js";

/** Stands among what a server refused for tools without parameters: it is told that these are an object without any. */
export const bareTools = "tools without parameters";

/** Stands there for `strict`, which is left out. */
export const strictness = "strict";

/** In the words of Mistral and TabbyAPI, of the checks of servers in Python, Go and Rust, and of AI SDK's provider for DeepSeek. */
export const refusesToolSchemas: Readonly<Record<string, RegExp>> = {
  [bareTools]: /\bparameters\b.{0,60}\b(?:required|missing)\b|missing field .parameters\b/is,
  [strictness]:
    /\bstrict\b.{0,60}\b(?:not (?:permitted|supported|allowed)|extra_forbidden|un(?:known|expected|supported|recognized))\b|\b(?:un(?:known|expected|supported|recognized)|extra)\b.{0,60}\bstrict\b|\bstrict tool calls require\b/is,
};

/** Which of these a request has. */
export function toolSchemasToRefuse({ tools, responseFormat }: LLMRequest): string[] {
  const saysHow =
    tools.some((tool) => tool.function?.strict !== undefined) ||
    responseFormat?.jsonSchema?.strict !== undefined;
  return [
    ...(tools.some((tool) => !tool.function?.parameters) ? [bareTools] : []),
    ...(saysHow ? [strictness] : []),
  ];
}

/** Whether calls of tools, or the answer, have to keep to a schema to the letter. */
export const isStrict = (request: LLMRequest): boolean =>
  hasStrictTools(request) || request.responseFormat?.jsonSchema?.strict === true;

/** Whether calls of a tool have to. */
export const hasStrictTools = ({ tools }: LLMRequest): boolean =>
  tools.some((tool) => tool.function?.strict);
