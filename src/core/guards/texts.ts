/** The texts of requests and answers: which there are, and how others take their places. */
import type {
  ContentPart,
  LLMMessage,
  LLMRequest,
  ResponseFormat,
  Tool,
  ToolCall,
} from "../../../gen/lintel/v1/chat_pb.js";
import type { TextToImageRequest } from "../../../gen/lintel/v1/image_pb.js";
import { fileIn, textOfFile } from "../files.js";
import type { JsonObject } from "../json.js";
import { isConversation, type MethodName } from "../methods.js";
import { detailsIn } from "../reasoning.js";
import { joinedTexts, partsOf } from "./joined-texts.js";
import { MemberNames, mapJsonTexts } from "./json-texts.js";

/** Where a text stands. */
export interface TextPlace {
  /** By the contract's names. */
  readonly field: string;
  /** Author of its message; absent: it is of none. */
  readonly role?: string | undefined;
  /** Place of its message in the request; absent: it is of none there. */
  readonly message?: number | undefined;
  /** Name of the member of an object whose value it is; absent: it is of none. */
  readonly member?: string | undefined;
  /** Whether no other text can take its place, as of the name of a function. */
  readonly fixed?: true;
}

/** What PDFs say, by their parts; one that is not there is not looked at. */
export type Pdfs = ReadonlyMap<ContentPart, string>;

const none: Pdfs = new Map();

/** Answers what takes the place of a text, which is never empty. */
export type MapText = (text: string, place: TextPlace) => string;

/**
 * A request with others in the place of its texts. Text parts of a message that follow each other are
 * one: a model reads them so, and what is looked at is to be what it reads.
 */
export function mapRequest<R extends object>(
  method: MethodName,
  request: R,
  map: MapText,
  pdfs: Pdfs = none,
): R {
  return (isConversation(method)
    ? mapConversation(request as object as LLMRequest, map, pdfs)
    : mapImageRequest(request as object as TextToImageRequest, map)) as object as R;
}

/** The text itself, or another; none is none. */
const one = (text: string, place: TextPlace, map: MapText): string =>
  text === "" ? text : map(text, place);

const json = (text: string, place: TextPlace, map: MapText): string =>
  mapJsonTexts(text, (inner, member) => map(inner, member ? { ...place, member } : place));

function mapImageRequest(request: TextToImageRequest, map: MapText): TextToImageRequest {
  const { prompt, negativePrompt } = request;
  return {
    ...request,
    ...(prompt !== undefined && { prompt: one(prompt, { field: "prompt" }, map) }),
    negativePrompt: one(negativePrompt, { field: "negative_prompt" }, map),
  };
}

function mapConversation(request: LLMRequest, map: MapText, pdfs: Pdfs): LLMRequest {
  const { responseFormat, stop } = request;
  return {
    ...request,
    messages: request.messages.map((message, i) =>
      mapMessage(message, `messages[${i}]`, map, pdfs, i),
    ),
    // One of which nothing is left would stop everything, or be refused.
    stop: stop.map((text, i) => one(text, { field: `stop[${i}]` }, map)).filter(Boolean),
    tools: request.tools.map((tool, i) => mapTool(tool, `tools[${i}].function`, map)),
    ...(responseFormat && { responseFormat: mapForm(responseFormat, map) }),
  };
}

function mapForm(form: ResponseFormat, map: MapText): ResponseFormat {
  const { jsonSchema: schema, choice, regex, grammar } = form;
  const field = "response_format";
  const at = `${field}.json_schema`;
  return {
    ...form,
    // An answer that is held to another text would not be what the caller looks for.
    choice: choice.map((text, i) =>
      one(text, { field: `${field}.choice[${i}]`, fixed: true }, map),
    ),
    regex: one(regex, { field: `${field}.regex`, fixed: true }, map),
    grammar: one(grammar, { field: `${field}.grammar`, fixed: true }, map),
    ...(schema && {
      jsonSchema: {
        ...schema,
        name: one(schema.name, { field: `${at}.name`, fixed: true }, map),
        description: one(schema.description, { field: `${at}.description` }, map),
        schema: json(schema.schema, { field: `${at}.schema` }, map),
      },
    }),
  };
}

function mapTool(tool: Tool, at: string, map: MapText): Tool {
  const { function: it } = tool;
  if (!it) return tool;
  return {
    ...tool,
    function: {
      ...it,
      name: one(it.name, { field: `${at}.name`, fixed: true }, map),
      description: one(it.description, { field: `${at}.description` }, map),
      parameters: json(it.parameters, { field: `${at}.parameters` }, map),
    },
  };
}

/**
 * A message with others in the place of its texts, which are its content, its parts, what was thought,
 * and names and arguments of its calls.
 * @param at the message by the contract's names
 * @param index its place in a request
 */
export function mapMessage(
  message: LLMMessage,
  at: string,
  map: MapText,
  pdfs: Pdfs = none,
  index?: number,
): LLMMessage {
  const { role, content, parts, toolCalls, reasoningContent, reasoningDetails } = message;
  const place = (field: string): TextPlace => ({ field: `${at}.${field}`, role, message: index });
  return {
    ...message,
    content: one(content, place("content"), map),
    parts: mapParts(parts, (field) => place(field), map, pdfs),
    toolCalls: toolCalls.map((call, i) =>
      mapCall(call, (field) => place(`tool_calls[${i}].function.${field}`), map),
    ),
    ...(reasoningContent !== undefined && {
      reasoningContent: one(reasoningContent, place("reasoning_content"), map),
    }),
    ...(reasoningDetails !== undefined && {
      reasoningDetails: mapDetails(reasoningDetails, place("reasoning_details"), map),
    }),
  };
}

function mapCall(call: ToolCall, place: (field: string) => TextPlace, map: MapText): ToolCall {
  const { function: it } = call;
  if (!it) return call;
  return {
    ...call,
    function: {
      ...it,
      name: one(it.name, { ...place("name"), fixed: true }, map),
      arguments: json(it.arguments, place("arguments"), map),
    },
  };
}

function mapParts(
  parts: readonly ContentPart[],
  place: (field: string) => TextPlace,
  map: MapText,
  pdfs: Pdfs,
): ContentPart[] {
  return joinedTexts(parts).flatMap((joined) => {
    const { part, i } = joined;
    const { text, file } = part;
    if (part.type === "text") {
      return text === undefined ? part : partsOf(joined, one(text, place(`parts[${i}].text`), map));
    }
    if (part.type !== "file" || !file) return part;
    const filename = one(file.filename, place(`parts[${i}].file.filename`), map);
    const content = textOfFile(part) ?? pdfs.get(part);
    const told = content && one(content, place(`parts[${i}].file.file_data`), map);
    // One of which nothing is left is still a file: its last end of a line is not told.
    const fileData = told === content ? file.fileData : textFile(part, told || "\n");
    return { ...part, file: { ...file, filename, fileData } };
  });
}

/** The address of a file of the same type that says something else; of a PDF it is one of text. */
function textFile(part: ContentPart, text: string): string {
  const type = textOfFile(part) === undefined ? "text/plain" : fileIn(part)?.mediaType;
  return `data:${type};charset=utf-8;base64,${Buffer.from(text).toString("base64")}`;
}

/** Members of a detail of thoughts that say of what kind it is, and its signature: no model reads them as texts. */
const ofForm: ReadonlySet<string> = new Set(["type", "id", "format", "index", "signature"]);

/** Whether a member may be text that a model reads: what is encrypted is none, and what calls come back with. */
const isTold = (detail: JsonObject, name: string): boolean =>
  !ofForm.has(name) &&
  name !== "extra_content" &&
  !(name === "data" && detail.type === "reasoning.encrypted");

/** Names of members whose texts are told; that of any other one is a text, too. */
const usual: ReadonlySet<string> = new Set(["text", "summary", "content", "data"]);

/** Details of thoughts. They stay as they are written where nothing takes the place of a text of theirs. */
function mapDetails(details: string, place: TextPlace, map: MapText): string {
  let changed = false;
  const member = (name: string, value: unknown): readonly [string, unknown] => {
    const isUsual = usual.has(name);
    if (isUsual && typeof value === "string") {
      const text = one(value, place, map);
      changed ||= text !== value;
      return [name, text];
    }
    // Lists and objects, whose texts are those of their JSON.
    const before = JSON.stringify(isUsual ? value : { [name]: value });
    const after = json(before, place, map);
    if (after === before) return [name, value];
    changed = true;
    const said = JSON.parse(after);
    return isUsual ? [name, said] : (Object.entries(said)[0] as [string, unknown]);
  };
  const mapped = detailsIn(details).map((detail) => {
    const names = new MemberNames();
    return Object.fromEntries(
      Object.entries(detail).map(([name, value]) => {
        const [told, said] = isTold(detail, name) ? member(name, value) : [name, value];
        return [names.add(told, told !== name), said];
      }),
    );
  });
  return changed ? JSON.stringify(mapped) : details;
}
