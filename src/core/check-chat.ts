/** What the rules in the proto can't say of messages, tools, forms of answers and what is told beside them. */
import type {
  ContentPart,
  LLMMessage,
  LLMRequest,
  ResponseFormat,
} from "../../gen/lintel/v1/chat_pb.js";
import { isBase64 } from "./base64.js";
import type { Violation } from "./errors.js";
import { inlineFile, longestHead } from "./files.js";
import { inlineImage } from "./image-urls.js";
import { areObjects, isJsonOf, isObject, isTooDeepIn, parseJson, tooDeep } from "./json.js";
import { fits } from "./pattern.js";
import { textForms } from "./text-forms.js";

/**
 * Looks at what a request says in its messages, of tools, of the answer's form and of what is told beside it.
 * @param hosts at which images may be, or patterns
 * @param into gets what is wrong
 */
export function checkChat(request: LLMRequest, hosts: readonly string[], into: Violation[]): void {
  const { messages, tools, toolChoice, responseFormat, topLogprobs = 0 } = request;
  for (let i = 0; i < messages.length; i++) {
    const message = messages[i] as LLMMessage;
    if (message.toolCalls.length > 0) checkCalls(`messages[${i}].tool_calls`, message, into);
    if (message.reasoningContent || message.reasoningDetails) {
      checkReasoning(`messages[${i}]`, message, into);
    }
    if (message.toolCallId !== "" && message.role !== "tool") {
      into.push(onlyOf(`messages[${i}].tool_call_id`, "tool"));
    }
    if (message.parts.length > 0) checkParts(`messages[${i}]`, message, hosts, into);
    if (message.images.length > 0) checkImages(`messages[${i}].images`, message, hosts, into);
  }
  for (const [i, { function: tool }] of tools.entries()) {
    checkSchema(`tools[${i}].function.parameters`, tool?.parameters, into);
  }
  if (toolChoice) checkChoice(request, toolChoice, into);
  if (topLogprobs > 0 && !request.logprobs) {
    into.push({ field: "top_logprobs", message: "must be 0 where no logprobs are asked for" });
  }
  if (responseFormat) checkForm(responseFormat, into);
}

function checkForm(form: ResponseFormat, into: Violation[]): void {
  const { type, jsonSchema } = form;
  for (const one of textForms) {
    const field = `response_format.${one}`;
    const isThere = form[one].length > 0;
    if (one === type && !isThere) into.push({ field, message: "is required" });
    if (one !== type && isThere) {
      into.push({ field, message: `must be absent where the type is not "${one}"` });
    }
  }
  if (type !== "json_schema") return;
  if (jsonSchema) checkSchema("response_format.json_schema.schema", jsonSchema.schema, into);
  else into.push({ field: "response_format.json_schema", message: "is required" });
}

function checkCalls(field: string, { role, toolCalls }: LLMMessage, into: Violation[]): void {
  if (role !== "assistant") into.push(onlyOf(field, "assistant"));
  for (const [i, { extraContent }] of toolCalls.entries()) {
    checkObject(`${field}[${i}].extra_content`, extraContent, "", into);
  }
}

function checkReasoning(
  at: string,
  { role, reasoningContent, reasoningDetails }: LLMMessage,
  into: Violation[],
): void {
  if (role !== "assistant") {
    if (reasoningContent) into.push(onlyOf(`${at}.reasoning_content`, "assistant"));
    if (reasoningDetails) into.push(onlyOf(`${at}.reasoning_details`, "assistant"));
  } else if (reasoningDetails && !isJsonOf(reasoningDetails, areObjects)) {
    const message = "must be a JSON array of objects";
    into.push({ field: `${at}.reasoning_details`, message });
  }
}

function checkParts(
  field: string,
  { content, parts }: LLMMessage,
  hosts: readonly string[],
  into: Violation[],
): void {
  if (content !== "") {
    into.push({ field: `${field}.content`, message: "must be empty where there are parts" });
  }
  for (const [i, part] of parts.entries()) {
    const name = `${field}.parts[${i}]`;
    if (part.type === "text") checkText(name, part, into);
    else if (part.type === "image_url") checkImage(`${name}.image_url`, part, hosts, into);
    else if (part.type === "file") checkFile(`${name}.file`, part, hosts, into);
    else if (part.type === "input_audio") checkSound(`${name}.input_audio`, part, hosts, into);
  }
}

/** Pictures that a model drew, as they are handed back. */
function checkImages(
  field: string,
  { role, images }: LLMMessage,
  hosts: readonly string[],
  into: Violation[],
): void {
  if (role !== "assistant") into.push(onlyOf(field, "assistant"));
  for (const [i, part] of images.entries()) {
    const name = `${field}[${i}]`;
    if (part.type === "image_url") checkImage(`${name}.image_url`, part, hosts, into);
    // Of one that is no part the rules say so.
    else if (partTypes.has(part.type)) {
      into.push({ field: `${name}.type`, message: "must be image_url" });
    }
    checkObject(`${name}.extra_content`, part.extraContent, "", into);
  }
}

const partTypes: ReadonlySet<string> = new Set(["text", "file", "input_audio"]);

function isThere<T>(member: T | undefined, field: string, into: Violation[]): member is T {
  if (member === undefined) into.push({ field, message: "is required" });
  return member !== undefined;
}

function checkText(name: string, { text }: ContentPart, into: Violation[]): void {
  isThere(text, `${name}.text`, into);
}

function checkImage(
  name: string,
  { imageUrl }: ContentPart,
  hosts: readonly string[],
  into: Violation[],
): void {
  if (!isThere(imageUrl, name, into)) return;
  const { url } = imageUrl;
  const image = inlineImage(url);
  if (image) {
    if (!isBase64(url.slice(image.start))) into.push({ field: `${name}.url`, message: notBase64 });
  } else if (!isAt(url, hosts)) {
    const address = addressAt(hosts);
    const message = `must be ${address ? `${address}, or ` : ""}a data: URL of an image in base64`;
    into.push({ field: `${name}.url`, message });
  }
}

function checkFile(
  name: string,
  { file }: ContentPart,
  hosts: readonly string[],
  into: Violation[],
): void {
  if (!isThere(file, name, into)) return;
  const content = inlineFile(file);
  if (content) {
    if (!isBase64(content.data)) into.push({ field: `${name}.file_data`, message: notBase64 });
  } else if (!isAt(file.fileData, hosts)) {
    const address = addressAt(hosts);
    const message = `must be ${address ? `${address}, or ` : ""}a data: URL of a file in base64, with its media type`;
    into.push({ field: `${name}.file_data`, message });
  }
}

/** What else is wrong inside of it the rules say. */
function checkSound(
  name: string,
  { inputAudio }: ContentPart,
  hosts: readonly string[],
  into: Violation[],
): void {
  if (!isThere(inputAudio, name, into)) return;
  const { data } = inputAudio;
  // Qwen's servers want a head before it, or an address in its place.
  const head = /^data:[^,]*;base64,/i.exec(data.slice(0, longestHead))?.[0] ?? "";
  if (data === "" || isBase64(data.slice(head.length)) || isAt(data, hosts)) return;
  into.push({ field: `${name}.data`, message: "must be a sound in base64" });
}

const notBase64 = "must be in base64, as it says";

/** The host as it is written in an address, where nothing else is with it but a port. */
const plainHost = /^https?:\/\/([\w.-]+|\[[\da-f:.]+\])(?::\d{1,5})?(?=[/?#]|$)/i;

/**
 * Whether an address is at one of some hosts. Only one that is written plainly: who fetches it may read others
 * otherwise, as `http://here\@there/`, whose host is `here` for browsers and `there` for Python.
 */
function isAt(url: string, hosts: readonly string[]): boolean {
  if (!/^https?:\/\/[^\s/]/i.test(url)) return false;
  if (hosts.includes("*")) return true;
  const [, written = ""] = plainHost.exec(url) ?? [];
  const hostname = URL.canParse(url) ? new URL(url).hostname : "";
  return written.toLowerCase() === hostname && hosts.some((host) => fits(host, hostname));
}

function addressAt(hosts: readonly string[]): string {
  if (hosts.length === 0) return "";
  const where = hosts.includes("*") ? "" : ` at ${hosts.join(" or ")}`;
  return `an http: or https: address${where}`;
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
  if (!text) return;
  const value = parseJson(text);
  if (!isObject(value)) into.push({ field, message: `must be a JSON object${what}` });
  else if (isTooDeepIn(text, value)) into.push({ field, message: tooDeep });
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
  // Of one that is empty the rules say so.
  else if (chosen.name !== "" && !tools.some(({ function: tool }) => tool?.name === chosen.name)) {
    const message = "must be the name of one of the tools";
    into.push({ field: "tool_choice.function.name", message });
  }
}
