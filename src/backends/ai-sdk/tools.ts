/** Tools, and the answer's form, as the AI SDK's common interface has them. */
import type { LanguageModelV3CallOptions, LanguageModelV3FunctionTool } from "@ai-sdk/provider";
import type {
  FunctionTool,
  LLMRequest,
  ResponseFormat,
  ToolChoice,
} from "../../../gen/lintel/v1/chat_pb.js";
import { isObject, parseJson } from "../../core/json.js";
import type { ChatPackage } from "./chat-package.js";
import { optionsOfMark } from "./marks.js";

type Options = LanguageModelV3CallOptions;

/**
 * What a request says of tools; nothing where it has none: vendors refuse a choice among none.
 * @param known how marks for the vendor's cache are told, and what may be chosen. Default: not at all, and anything
 * @param strictly whether it is told how closely calls keep to their schemas. Default: yes
 */
export function toolOptions(
  { tools, toolChoice }: LLMRequest,
  { marking, offersChosen = false }: Pick<ChatPackage, "marking" | "offersChosen"> = {},
  strictly = true,
): Pick<Options, "tools" | "toolChoice"> {
  const name = offersChosen && toolChoice?.type === "function" && toolChoice.function?.name;
  const offered = tools.filter(({ function: tool }) => !name || tool?.name === name);
  if (offered.length === 0 || (offersChosen && toolChoice?.type === "none")) return {};
  return {
    tools: offered.flatMap(({ function: tool, cacheControl }) =>
      tool ? [{ ...toolOf(tool, strictly), ...optionsOfMark(cacheControl, marking) }] : [],
    ),
    ...(toolChoice && { toolChoice: name ? { type: "required" } : choiceOf(toolChoice) }),
  };
}

const toolOf = (
  { name, description, parameters, strict }: FunctionTool,
  strictly: boolean,
): LanguageModelV3FunctionTool => ({
  type: "function",
  name,
  ...(description !== "" && { description }),
  // Vendors want both, also of tools without arguments.
  inputSchema: { type: "object", properties: {}, ...schemaOf(parameters) },
  ...(strictly && strict !== undefined && { strict }),
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
