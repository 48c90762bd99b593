/** What is asked for about tools, and the answer's form. */
import type { LLMRequest } from "../../gen/lintel/v1/chat_pb.js";
import { toolCall } from "../../src/core/tool-calls.js";
import { say } from "../support/messages.js";
import { functionTool } from "../support/tools.js";

/** Parameters of the tool. */
export const schema = { type: "object", properties: { city: { type: "string" } } };

/** The tool. */
export const weather = (more: object = {}) =>
  functionTool("weather", schema, { description: "The weather.", ...more });

/** A choice of it. */
export const choice = (type: string, name?: string): NonNullable<LLMRequest["toolChoice"]> => ({
  $typeName: "lintel.v1.ToolChoice",
  type,
  ...(name && { function: { $typeName: "lintel.v1.FunctionName", name } }),
});

/** A form of the answer. */
export const format = (type: string, jsonSchema?: object) =>
  ({
    $typeName: "lintel.v1.ResponseFormat",
    ...{ type, choice: [], regex: "", grammar: "" },
    ...(jsonSchema && {
      jsonSchema: { $typeName: "lintel.v1.JsonSchemaFormat", ...jsonSchema },
    }),
  }) as NonNullable<LLMRequest["responseFormat"]>;

/** A conversation in which it was called. */
export const conversation = [
  say("user", "Rome?"),
  say("assistant", "", { toolCalls: [toolCall(0, "a", "weather", '{"city":"Rome"}')] }),
  say("tool", "sunny", { toolCallId: "a" }),
];
