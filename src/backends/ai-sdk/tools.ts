/** Tools, and the answer's form, as the AI SDK's common interface has them. */
import type { LanguageModelV3CallOptions, LanguageModelV3FunctionTool } from "@ai-sdk/provider";
import type {
  FunctionTool,
  LLMRequest,
  ResponseFormat,
  ToolChoice,
} from "../../../gen/lintel/v1/chat_pb.js";
import { isObject, parseJson } from "../../core/json.js";
import { type Marking, optionsOfMark } from "./marks.js";

type Options = LanguageModelV3CallOptions;

/**
 * What a request says of tools; nothing where it has none: vendors refuse a choice among none.
 * @param marking how marks for the vendor's cache are told; absent: not at all
 */
export function toolOptions(
  { tools, toolChoice }: LLMRequest,
  marking?: Marking,
): Pick<Options, "tools" | "toolChoice"> {
  if (tools.length === 0) return {};
  return {
    tools: tools.flatMap(({ function: tool, cacheControl }) =>
      tool ? [{ ...toolOf(tool), ...optionsOfMark(cacheControl, marking) }] : [],
    ),
    ...(toolChoice && { toolChoice: choiceOf(toolChoice) }),
  };
}

const toolOf = ({
  name,
  description,
  parameters,
  strict,
}: FunctionTool): LanguageModelV3FunctionTool => ({
  type: "function",
  name,
  ...(description !== "" && { description }),
  // Vendors want both, also of tools without arguments.
  inputSchema: { type: "object", properties: {}, ...schemaOf(parameters) },
  ...(strict !== undefined && { strict }),
});

const choiceOf = ({ type, function: chosen }: ToolChoice): Options["toolChoice"] =>
  type === "function"
    ? { type: "tool", toolName: chosen?.name ?? "" }
    : { type: type as "auto" | "none" | "required" };

/** The form of the answer; nothing where that is text. */
export function formatOf(format: ResponseFormat | undefined): Pick<Options, "responseFormat"> {
  if (!format || format.type === "text") return {};
  const { name, description = "", schema = "" } = format.jsonSchema ?? {};
  if (format.type !== "json_schema") return { responseFormat: { type: "json" } };
  return {
    responseFormat: {
      type: "json",
      ...(schema !== "" && { schema: schemaOf(schema) }),
      ...(name !== undefined && { name }),
      ...(description !== "" && { description }),
    },
  };
}

function schemaOf(text: string): LanguageModelV3FunctionTool["inputSchema"] {
  const schema = parseJson(text);
  return isObject(schema) ? schema : {};
}
