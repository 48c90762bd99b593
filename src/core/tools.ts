/** What the rules in the proto can't say of tools and of forms of answers. */
import type { LLMRequest } from "../../gen/lintel/v1/chat_pb.js";
import type { Violation } from "./errors.js";
import { isObject, parseJson } from "./json.js";

/**
 * Looks at what a request says of tools and of the answer's form.
 * @param into gets what is wrong
 */
export function checkTools(request: LLMRequest, into: Violation[]): void {
  const { messages, tools, toolChoice, responseFormat } = request;
  for (const [i, { role, toolCalls, toolCallId }] of messages.entries()) {
    for (const [j, { extraContent }] of toolCalls.entries()) {
      checkObject(`messages[${i}].tool_calls[${j}].extra_content`, extraContent, "", into);
    }
    if (toolCalls.length > 0 && role !== "assistant") {
      into.push(onlyOf(`messages[${i}].tool_calls`, "assistant"));
    }
    if (toolCallId !== "" && role !== "tool") {
      into.push(onlyOf(`messages[${i}].tool_call_id`, "tool"));
    }
  }
  for (const [i, { function: tool }] of tools.entries()) {
    checkSchema(`tools[${i}].function.parameters`, tool?.parameters, into);
  }
  if (toolChoice) checkChoice(request, toolChoice, into);
  if (responseFormat?.type !== "json_schema") return;
  const { jsonSchema } = responseFormat;
  if (jsonSchema) checkSchema("response_format.json_schema.schema", jsonSchema.schema, into);
  else into.push({ field: "response_format.json_schema", message: "is required" });
}

const onlyOf = (field: string, role: string): Violation => ({
  field,
  message: `must stand only in messages of the role ${role}`,
});

function checkSchema(field: string, schema: string | undefined, into: Violation[]): void {
  checkObject(field, schema, ": a JSON Schema", into);
}

function checkObject(
  field: string,
  text: string | undefined,
  what: string,
  into: Violation[],
): void {
  if (!text || isObject(parseJson(text))) return;
  into.push({ field, message: `must be a JSON object${what}` });
}

function checkChoice(
  { tools }: LLMRequest,
  { type, function: chosen }: NonNullable<LLMRequest["toolChoice"]>,
  into: Violation[],
): void {
  if (type === "required" && tools.length === 0) {
    into.push({ field: "tool_choice", message: "must be auto or none where there are no tools" });
  }
  if (type !== "function") return;
  if (!chosen) into.push({ field: "tool_choice.function", message: "is required" });
  else if (!tools.some(({ function: tool }) => tool?.name === chosen.name)) {
    const message = "must be the name of one of the tools";
    into.push({ field: "tool_choice.function.name", message });
  }
}
