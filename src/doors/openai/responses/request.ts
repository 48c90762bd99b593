/** A request of the Responses API to the contract's. */
import { type LLMRequest, LLMRequestSchema } from "../../../../gen/lintel/v1/chat_pb.js";
import {
  invalidFields,
  type LintelError,
  unsupported,
  type Violation,
} from "../../../core/errors.js";
import { isObject, type JsonObject, withMembers } from "../../../core/json.js";
import { isJson } from "../../../core/text-forms.js";
import { compileDecoder } from "../../json/decode.js";
import { answerForm } from "../../json/fields.js";
import { fields, fieldsOf } from "../../json/known.js";
import type { Names } from "../../json/rename.js";
import { formFieldsBeside, readForm } from "../answer-forms.js";
import { cacheOptionFields } from "../breakpoints.js";
import type { Customs } from "../custom-calls.js";
import { checkCustomNames } from "../custom-tools.js";
import { endUserFields, readEndUser } from "../end-user.js";
import { otherNameFields, takeOtherNames } from "../other-names.js";
import { checkParameters, fieldsOfRules } from "../parameter-rules.js";
import { responseParameters, tierOf, toldLogprobs } from "../parameters.js";
import { readReasoning, reasoningFields } from "../reasoning.js";
import { switchFields } from "../thinking-switches.js";
import { configured } from "./configuration.js";
import { type Echo, membersOf } from "./echo.js";
import { readItems } from "./items.js";
import { namesOf } from "./names.js";
import { partFields } from "./parts.js";
import { readTools } from "./tools.js";

/** What a request asks for. */
export interface ResponseRequest {
  readonly message: LLMRequest;
  readonly stream: boolean;
  readonly defect: LintelError | undefined;
  /** What was dropped. */
  readonly warnings: readonly string[];
  readonly names: Names;
  readonly echo: Echo;
  readonly customs: Customs;
}

const decode = compileDecoder(LLMRequestSchema);

const parts = fields(partFields);

const named = { type: true, name: true, namespace: true };
const toolFields = {
  ...{ type: true, name: true, description: true, strict: true },
  ...({ parameters: "verbatim", execution: true, async: true, defer_loading: true } as const),
  format: fields({ type: true, syntax: true, definition: true }),
};

const tools = fields({ ...toolFields, tools: fields(toolFields) });

const format = fields({
  ...{ type: true, name: true, description: true, schema: "verbatim", strict: true },
  ...{ choice: true, regex: true, grammar: true },
} as const);

/** Fields of the contract that have other names here. */
const renamedFields = ["messages", "response_format"];

/** What is read of a request. */
export const responseFields = fieldsOf(
  LLMRequestSchema,
  {
    ...fieldsOfRules(responseParameters),
    ...endUserFields,
    ...cacheOptionFields,
    ...{ stream: true, instructions: true, max_output_tokens: true, metadata: true },
    input: fields({
      ...{ type: true, role: true, content: parts, tools },
      ...{ summary: parts, encrypted_content: true },
      ...{ call_id: true, name: true, namespace: true, arguments: true, extra_content: true },
      ...{ execution: true, result: true, output_format: true },
      input: true,
      output: parts,
      reasoning: fields({ effort: true }),
      text: fields({ format }),
    }),
    tools,
    tool_choice: fields({ ...named, mode: true, tools: fields(named) }),
    text: fields({ format, verbosity: true }),
    reasoning: reasoningFields,
    ...switchFields,
    ...formFieldsBeside,
    ...otherNameFields,
  },
  ({ name }) => (renamedFields.includes(name) ? [] : [name]),
);

/** Reads a request; the contract's further fields may stand in it, too. */
export function readResponse(given: JsonObject): ResponseRequest {
  const warnings: string[] = [];
  const wrong: Violation[] = [];
  const { json, effortAt, formatAt } = configured(given, wrong);
  const parameter = checkParameters(json, responseParameters, warnings);
  const conversation = readItems(json);
  warnings.push(...conversation.warnings);
  const offer = readTools(json, warnings, wrong);
  const text = isObject(json.text) ? json.text : {};
  const reasoning = readReasoning(json, warnings, wrong);
  if (isObject(json.prompt_cache_options) && json.prompt_cache_options.comparison_response_id) {
    warnings.push("prompt_cache_options.comparison_response_id: not supported, ignored");
  }
  const user = readEndUser(json);
  const limit = json.max_output_tokens ?? undefined;
  const verbosity = text.verbosity ?? undefined;
  const told = logprobsAt(json);
  const own = formatOf(text.format);
  const form = readForm(json, own, formatAt ?? "text.format", warnings, wrong);
  const members: Record<string, unknown> = {
    messages: conversation.messages,
    max_tokens: limit ?? json.max_tokens,
    tools: offer.tools,
    tool_choice: offer.choice,
    response_format: form ? form.format : own,
    verbosity: verbosity ?? json.verbosity,
    logprobs: told === undefined ? json.logprobs : true,
    service_tier: tierOf(json.service_tier),
    ...reasoning.asked,
    ...user.asked,
  };
  const renamed: Record<string, string> = Object.assign(
    {},
    reasoning.names,
    user.names,
    form?.names,
  );
  takeOtherNames(json, members, renamed);
  const { message, violations } = decode(withMembers(json, members));
  checkCustomNames(message.tools, offer.customs, violations);
  const { stream } = answerForm({ stream: json.stream }, violations);
  // Not pushed as arguments, of which there may be too many for the stack.
  const faults = [...violations, ...conversation.violations, ...wrong, ...wrongIn(json)];
  if (effortAt !== undefined) renamed.reasoning_effort = effortAt;
  if (limit !== undefined) renamed.max_tokens = "max_output_tokens";
  if (verbosity !== undefined) renamed.verbosity = "text.verbosity";
  if (told !== undefined) renamed.logprobs = told;
  // These have the client's names already.
  for (const { field } of wrong) renamed[field] = field;
  const nameOf = namesOf(conversation.places, offer.places, renamed, conversation.fileUrls);
  const names: Names =
    formatAt === undefined
      ? nameOf
      : (field) => nameOf(field).replace(/^text\.format(?![^.[])/, formatAt);
  const refused =
    parameter ?? form?.refused ?? prewarming(json) ?? offer.refused ?? conversation.refused;
  const defect = faults.length > 0 ? invalidFields(faults) : refused;
  const echo = {
    members: membersOf(json, offer.kept),
    inJson: isJson(message),
    namespaces: offer.namespaces,
    loads: offer.loads,
  };
  return { message, stream, defect, warnings, names, echo, customs: offer.customs };
}

/** Where `include` asks how likely the tokens of the answer were; `undefined`: nowhere. */
function logprobsAt({ include }: JsonObject): string | undefined {
  if (include === toldLogprobs) return "include";
  const at = Array.isArray(include) ? include.indexOf(toldLogprobs) : -1;
  return at === -1 ? undefined : `include[${at}]`;
}

/** Who only fills a cache of prompts must not pay for an answer. */
function prewarming({ prompt_cache_options: options }: JsonObject): LintelError | undefined {
  if (!isObject(options) || options.prewarm !== true) return undefined;
  return unsupported("prompt_cache_options.prewarm", "this gateway makes an answer each time");
}

/** What is wrong with fields that the contract does not have. */
function wrongIn({ text, metadata }: JsonObject): Violation[] {
  const wrong: Violation[] = [];
  if (text != null && !isObject(text)) wrong.push({ field: "text", message: "must be an object" });
  const known = metadata ?? {};
  if (!isObject(known) || !Object.values(known).every((value) => typeof value === "string")) {
    wrong.push({ field: "metadata", message: "must be an object of strings" });
  }
  return wrong;
}

/** The answer's form: what is flat here has an object of its own in the contract. */
function formatOf(format: unknown): unknown {
  if (!isObject(format) || format.type !== "json_schema") return format;
  const { type, name, description, schema, strict } = format;
  return { type, json_schema: { name, description, schema, strict } };
}
