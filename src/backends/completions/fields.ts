/** Messages' parts, tools, and the answer's form, as OpenAI-compatible servers read them. */
import type {
  CacheControl,
  ContentPart,
  FileData,
  LLMMessage,
  LLMRequest,
  ResponseFormat,
  ToolChoice,
} from "../../../gen/lintel/v1/chat_pb.js";
import { inlineFile, isPdf } from "../../core/files.js";
import { parseJson } from "../../core/json.js";
import { parseMarked } from "../../core/long-numbers.js";
import { markOf } from "../../core/prompt-marks.js";
import { textFormOf } from "../../core/text-forms.js";
import { objectArguments } from "../../core/tool-calls.js";
import { sameId } from "../call-ids.js";
import { isGiven } from "./refusals/extra-content.js";
import { bareTools, strictness } from "./refusals/tool-schemas.js";

/** Stands for a request's tools, its choice among them and what was called, where a server takes none of it. */
export const tools = "tools";

/** Stands for what an answer said beside calls of tools. */
export const besideCalls = "text beside tool_calls";

/**
 * What a request says of tools; nothing where it has none: servers refuse a choice among none. In their schemas
 * numbers are marked that JavaScript has none for, so that `jsonBody` writes them as they were.
 * @param refused what the server has refused; absent: nothing
 */
export function toolFields(request: LLMRequest, refused: ReadonlySet<string> = nothing) {
  if (request.tools.length === 0) return undefined;
  return {
    tools: request.tools.map(({ function: tool }) => ({
      type: "function",
      function: {
        name: tool?.name,
        description: tool?.description || undefined,
        parameters: tool?.parameters
          ? parseMarked(tool.parameters)
          : refused.has(bareTools)
            ? noParameters
            : undefined,
        strict: refused.has(strictness) ? undefined : tool?.strict,
      },
    })),
    tool_choice: request.toolChoice && writeChoice(request.toolChoice),
    parallel_tool_calls: request.parallelToolCalls,
  };
}

/** `auto` is what servers do anyway, and some refuse to be told. */
function writeChoice({ type, function: chosen }: ToolChoice) {
  if (type === "function") return { type, function: { name: chosen?.name } };
  return type === "auto" ? undefined : type;
}

const noParameters = { type: "object", properties: {} };

const nothing: ReadonlySet<string> = new Set();

/**
 * The form of the answer, as a server reads it; numbers of its schema as in those of `toolFields`.
 * @param refused what the server has refused; absent: nothing
 */
export function writeFormat(format: ResponseFormat, refused: ReadonlySet<string> = nothing) {
  const { type, jsonSchema } = format;
  const form = textFormOf(format);
  if (form) return { type, [form]: format[form] };
  if (type !== "json_schema" || !jsonSchema) return { type };
  const { name, description, schema, strict } = jsonSchema;
  const json_schema = {
    name,
    description: description || undefined,
    schema: schema === "" ? undefined : parseMarked(schema),
    strict: refused.has(strictness) ? undefined : strict,
  };
  return { type, json_schema };
}

/** What a message says, as a text or in parts, where marks for the server's cache of prompts stand. */
export function writeContent(message: LLMMessage): string | object[] {
  const { content, parts } = message;
  const mark = markOf(message);
  if (parts.length === 0) {
    // Nothing can't be kept.
    const isMarked = mark && content.trim() !== "";
    return isMarked ? [{ type: "text", text: content, cache_control: writeMark(mark) }] : content;
  }
  return parts.map((part, i) => {
    const ofPart = i === parts.length - 1 ? mark : part.cacheControl;
    const written = writePart(part);
    return ofPart ? { ...written, cache_control: writeMark(ofPart) } : written;
  });
}

/** A mark for the server's cache of prompts. */
export const writeMark = ({ type, ttl }: CacheControl) => ({ type, ttl: ttl || undefined });

function writePart({ type, text, imageUrl, file, inputAudio }: ContentPart): object {
  switch (type) {
    case "image_url":
      return { type, image_url: { url: imageUrl?.url, detail: imageUrl?.detail || undefined } };
    case "file":
      return { type, file: { filename: file && nameOf(file), file_data: file?.fileData } };
    case "input_audio":
      return { type, input_audio: { data: inputAudio?.data, format: inputAudio?.format } };
    default:
      return { type, text };
  }
}

/** OpenAI refuses files without a name, whose end is what it goes by. */
function nameOf(file: FileData): string {
  const content = file.filename === "" ? inlineFile(file) : undefined;
  if (!content) return file.filename || "file";
  return isPdf(content) ? "file.pdf" : "file";
}

/**
 * What a message says besides its role and content; `undefined` where that is nothing.
 * @param unsigned stands with the first call where nothing does
 * @param idOf what the server is told instead of ids
 * @param extras whether it takes what another gave with a call
 */
export function callFields(
  { role, content, toolCalls, toolCallId, parts }: LLMMessage,
  unsigned?: object,
  idOf = sameId,
  extras = true,
) {
  if (role === "tool" && toolCallId !== "") return { tool_call_id: idOf(toolCallId) };
  if (toolCalls.length === 0) return undefined;
  return {
    tool_calls: toolCalls.map(({ id, function: called, extraContent }, i) => ({
      id: idOf(id),
      type: "function",
      // Chat templates read it as JSON.
      function: { name: called?.name, arguments: objectArguments(called?.arguments ?? "") },
      extra_content:
        extras && isGiven(extraContent) ? parseJson(extraContent) : i === 0 ? unsigned : undefined,
    })),
    ...(content === "" && parts.length === 0 && { content: null }),
  };
}
