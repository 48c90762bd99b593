/** OpenAI's chat request to the contract's. */
import {
  ContentPartSchema,
  type LLMRequest,
  LLMRequestSchema,
  ResponseFormatSchema,
  ToolCallSchema,
  ToolChoiceSchema,
  ToolSchema,
} from "../../../gen/lintel/v1/chat_pb.js";
import { invalidIn, type LintelError, unsupported, type Violation } from "../../core/errors.js";
import { isObject, type JsonObject, withMembers } from "../../core/json.js";
import { compileDecoder } from "../json/decode.js";
import { type AnswerForm, answerForm, formFields } from "../json/fields.js";
import { fields, fieldsOf } from "../json/known.js";
import type { Names } from "../json/rename.js";
import { withAllowedTools, withPlaces } from "./allowed-tools.js";
import { formatFields, formFieldsBeside, readForm } from "./answer-forms.js";
import { Breakpoints, cacheOptionFields } from "./breakpoints.js";
import { ChatCustoms, customCallFields, customFields, customsOf } from "./chat-customs.js";
import {
  type ChatPartReading,
  haveThoughts,
  partFields,
  readParts,
  thoughtsAmong,
} from "./chat-parts.js";
import { countOf } from "./choices.js";
import type { Customs } from "./custom-calls.js";
import { checkCustomNames, isCustom } from "./custom-tools.js";
import { endUserFields, readEndUser } from "./end-user.js";
import { asksAsOpenRouter, asksForUsage } from "./open-router.js";
import { otherNameFields, takeOtherNames } from "./other-names.js";
import { checkParameters, fieldsOfRules } from "./parameter-rules.js";
import { chatParameters, modalities, tierOf } from "./parameters.js";
import { readReasoning, reasoningFields } from "./reasoning.js";
import { switchFields } from "./thinking-switches.js";

/** What a request asks for. */
export interface ChatRequest {
  readonly message: LLMRequest;
  readonly form: AnswerForm;
  readonly defect: LintelError | undefined;
  /** What was dropped. */
  readonly warnings: readonly string[];
  readonly names: Names;
  readonly customs: Customs;
  /** Whether the answer is looked at as OpenRouter's. */
  readonly asOpenRouter: boolean;
  /** How many answers are wanted. */
  readonly count: number;
}

const decode = compileDecoder(LLMRequestSchema);

/** What is read of a request. */
export const chatFields = fieldsOf(LLMRequestSchema, {
  ...formFields,
  ...fieldsOfRules(chatParameters),
  ...endUserFields,
  ...cacheOptionFields,
  max_completion_tokens: true,
  ...otherNameFields,
  reasoning: reasoningFields,
  usage: fields({ include: true }),
  n: true,
  ...switchFields,
  ...formFieldsBeside,
  response_format: fieldsOf(ResponseFormatSchema, formatFields),
  tools: fieldsOf(ToolSchema, { custom: customFields }),
  tool_choice: fieldsOf(ToolChoiceSchema, { allowed_tools: true, custom: fields({ name: true }) }),
  messages: fields({
    ...{ role: true, refusal: true, tool_call_id: true, function_call: true, prefix: true },
    ...{ reasoning_content: true, reasoning: true, reasoning_details: true },
    tool_calls: fieldsOf(ToolCallSchema, { custom: customCallFields }),
    ...{ audio: fields({ id: true }), content: partFields },
    images: fieldsOf(ContentPartSchema),
  }),
});

/** Reads a request: what OpenAI writes in another way is put the contract's way, then decoded. */
export function readChat(json: JsonObject): ChatRequest {
  const warnings: string[] = [];
  let refused = checkParameters(json, chatParameters, warnings);
  const { messages, max_completion_tokens: limit } = json;
  const wrong: Violation[] = [];
  const among = withAllowedTools(json, wrong);
  const customs = new ChatCustoms();
  const asked = customs.read(among.asked);
  const reasoning = readReasoning(json, warnings, wrong);
  const user = readEndUser(json);
  const { response_format: own } = json;
  const asForm = readForm(json, own, "response_format", warnings, wrong);
  refused ??= asForm?.refused;
  const members: Record<string, unknown> = Object.assign({}, reasoning.asked, user.asked);
  if (asForm) members.response_format = asForm.format;
  const table: Record<string, string> = Object.assign(
    {},
    reasoning.names,
    user.names,
    asForm?.names,
  );
  const breakpoints = new Breakpoints(json, wrong);
  const reading: ChatPartReading = {
    breakpoints,
    wrong,
    names: table,
    warnings: new Set(),
    refuse(place, why) {
      refused ??= unsupported(place, why);
    },
  };
  if (Array.isArray(json.modalities)) {
    members.modalities = json.modalities.filter((one) => modalities.includes(one));
  }
  if (json.service_tier !== undefined) members.service_tier = tierOf(json.service_tier);
  if (limit != null) {
    members.max_tokens = limit;
    table.max_tokens = "max_completion_tokens";
  }
  takeOtherNames(json, members, table);
  // Mistral's clients say it so.
  if (asked.tool_choice === "any") members.tool_choice = "required";
  if (Array.isArray(messages) && messages.some(isRewritten)) {
    members.messages = messages.map((item, i) => {
      // What is no text is told of by its own name.
      if (isOtherwiseThought(item) && typeof item.reasoning !== "string") {
        table[`messages[${i}].reasoning_content`] = `messages[${i}].reasoning`;
      }
      const message = callsCustoms(item)
        ? { ...item, tool_calls: customs.calls(item.tool_calls, `messages[${i}].tool_calls`) }
        : item;
      return rewritten(message, `messages[${i}]`, reading);
    });
    breakpoints.end();
  }
  const spoken = Array.isArray(messages) ? messages.findIndex(isSpoken) : -1;
  if (spoken !== -1) {
    reading.refuse(
      `messages[${spoken}].audio`,
      "nothing is kept here, send what was said as content",
    );
  }
  if (Array.isArray(messages) && messages.some(callsFunctions)) {
    warnings.push("messages: function_call in them is not supported, ignored");
  }
  if (Array.isArray(messages) && messages.some(isBegun)) {
    warnings.push("messages: prefix in them is not supported, ignored");
  }
  warnings.push(...reading.warnings, ...customs.warnings);
  const { message, violations } = decode(
    Object.keys(members).length > 0 ? withMembers(asked, members) : asked,
  );
  const customNames = customsOf(json);
  checkCustomNames(message.tools, customNames, violations);
  violations.push(...wrong);
  // Not as arguments, of which there may be too many for the stack.
  for (const fault of customs.wrong) violations.push(fault);
  const count = countOf(json, violations);
  const { stream, includeUsage } = answerForm(json, violations);
  const defect = invalidIn(violations) ?? refused;
  const names = customs.names(table);
  return {
    message,
    form: { stream, includeUsage: includeUsage || asksForUsage(json) },
    defect,
    warnings,
    names: among.places ? withPlaces(names, among.places) : names,
    customs: customNames,
    asOpenRouter: asksAsOpenRouter(json),
    count,
  };
}

/** Whether a message has its text elsewhere than in `content`, or in parts, an older role, or calls of custom tools. */
const isRewritten = (message: unknown) =>
  isObject(message) &&
  (Array.isArray(message.content) ||
    isRefusal(message) ||
    message.role === olderTool ||
    isOtherwiseThought(message) ||
    callsCustoms(message));

const callsCustoms = (
  message: unknown,
): message is JsonObject & { readonly tool_calls: readonly unknown[] } =>
  isObject(message) && Array.isArray(message.tool_calls) && message.tool_calls.some(isCustom);

/** Whether what a model thought stands where OpenRouter, Groq and vLLM have it in their answers. */
const isOtherwiseThought = (message: unknown): message is JsonObject =>
  isObject(message) &&
  message.role === "assistant" &&
  message.reasoning != null &&
  (message.reasoning_content ?? "") === "";

/** The role of what a `function_call` resulted in. */
const olderTool = "function";

/** Whether a message is how OpenAI's models decline: as they answer it, with no content. */
const isRefusal = ({ content, refusal }: JsonObject) =>
  content == null && typeof refusal === "string" && refusal !== "";

/** Whether a message is a model's call of a tool, the older way. */
const callsFunctions = (message: unknown) => isObject(message) && isObject(message.function_call);

/** Whether a message is the begin of an answer that shall go on from there, as Mistral and DeepSeek have it. */
const isBegun = (message: unknown) => isObject(message) && message.prefix === true;

/** Whether a message is an answer that was spoken, of which only its id at OpenAI is there. */
const isSpoken = (message: unknown) =>
  isObject(message) && isObject(message.audio) && (message.content ?? "") === "";

/** A message in a role of today, with the refusals in it as texts. @param at where it stands */
function rewritten(item: unknown, at: string, reading: ChatPartReading): unknown {
  if (!isObject(item)) return item;
  const message: JsonObject =
    item.role === olderTool
      ? { ...item, role: "tool" }
      : isOtherwiseThought(item)
        ? { ...item, reasoning_content: item.reasoning }
        : item;
  const { content } = message;
  if (isRefusal(message)) return { ...message, content: message.refusal };
  if (!Array.isArray(content)) return message;
  const read = { ...message, content: readParts({ ...message, content }, at, reading) };
  if (message.role !== "assistant" || !haveThoughts(content)) return read;
  const thoughts = thoughtsAmong(content, `${at}.content`, reading.wrong);
  return (message.reasoning_content ?? "") === "" && thoughts !== ""
    ? { ...read, reasoning_content: thoughts }
    : read;
}
