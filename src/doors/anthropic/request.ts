/** A request of the Messages API to the contract's. */
import { type LLMRequest, LLMRequestSchema } from "../../../gen/lintel/v1/chat_pb.js";
import { invalidFields, type LintelError, unsupported, type Violation } from "../../core/errors.js";
import { isObject, type JsonObject, withMembers } from "../../core/json.js";
import { compileDecoder } from "../json/decode.js";
import { answerForm } from "../json/fields.js";
import { fields, fieldsOf, type Known } from "../json/known.js";
import type { Names } from "../json/rename.js";
import { effortOfBudget } from "../json/thinking-budget.js";
import { markFields } from "./marks.js";
import { readConversation } from "./messages.js";
import { namesOf } from "./names.js";
import { sourceFields } from "./parts.js";
import { readTools } from "./tools.js";

/** What a request asks for. */
export interface MessagesRequest {
  readonly message: LLMRequest;
  readonly stream: boolean;
  readonly defect: LintelError | undefined;
  /** What was dropped. */
  readonly warnings: readonly string[];
  readonly names: Names;
  /** Whether thoughts are to be handed back without their text. */
  readonly hidesThoughts: boolean;
}

const decode = compileDecoder(LLMRequestSchema);

const inBlock = {
  ...{ type: true, text: true, thinking: true, signature: true, data: true },
  ...({ id: true, name: true, input: "verbatim", extra_content: true } as const),
  ...{ tool_use_id: true, is_error: true, title: true, source: fields(sourceFields) },
  ...{ tool_name: true, cache_control: markFields },
  transformations: fields({ oversized_image: true }),
};
const texts = fields({ type: true, text: true, cache_control: markFields });
const inner = fields({ ...inBlock, content: texts });
const form = fields({ type: true, schema: "verbatim" });
const tool = fields({
  ...{ type: true, name: true, description: true, strict: true, cache_control: markFields },
  ...({ input_schema: "verbatim", input_examples: "verbatim" } as const),
});
const blocks: Known = fields({
  ...{ ...inBlock, content: inner },
  tool: fields({ type: true, name: true, definition: tool }),
});

/** Fields of the contract that have other names here. */
const renamedFields = [
  "stop",
  "response_format",
  "reasoning_effort",
  "parallel_tool_calls",
  "user",
];

/** What is read of a request. */
export const messagesFields = fieldsOf(
  LLMRequestSchema,
  {
    ...{ stream: true, stop_sequences: true, system: texts, cache_control: markFields },
    messages: fields({ role: true, content: blocks, clear_at: true, output_config: true }),
    tools: tool,
    tool_choice: fields({ type: true, name: true, disable_parallel_tool_use: true }),
    thinking: fields({ type: true, budget_tokens: true, display: true }),
    output_config: fields({ effort: true, task_budget: true, format: form }),
    output_format: form,
    metadata: fields({ user_id: true }),
    ...{ container: true, mcp_servers: true, context_management: true, fallbacks: true },
    ...{ inference_geo: true, speed: true, diagnostics: true, fallback_credit_token: true },
    service_tier: true,
    billing_policy: fields({ bill_to: true }),
    ...{ thread: fields({ type: true }), compaction: fields({ type: true }) },
    safeguards: fields({ type: true }),
  },
  ({ name }) => (renamedFields.includes(name) ? [] : [name]),
);

/** What Anthropic does itself, and nothing here does. */
const hosted = [
  ...["container", "mcp_servers", "context_management", "fallbacks", "fallback_credit_token"],
  ...["inference_geo", "speed", "service_tier", "diagnostics"],
];
/** Values of these that ask for nothing. */
const usual: JsonObject = { speed: "standard", service_tier: "auto" };

/** What a client looks for in the answer, or leaves out of what it sends, and why there is nothing like it. */
const refusals: Readonly<Record<string, string>> = {
  thread: "nothing is kept here, send the whole conversation in messages",
  compaction: "no conversation is summarized here, ask for a summary in messages",
  // Who has calls checked must not run those that nobody looked at for such.
  safeguards: "no calls are checked here",
};

/** Reads a request; the contract's further fields may stand in it, too. */
export function readMessages(json: JsonObject): MessagesRequest {
  const warnings = hosted
    .filter((name) => asks(json[name]) && json[name] !== usual[name])
    .map(notSupported);
  const conversation = readConversation(json);
  const wrong: Violation[] = [];
  const offer = readTools(json, warnings, wrong);
  const thinking = objectIn(json, "thinking", wrong);
  if (typeof (thinking.type ?? "") !== "string") {
    wrong.push({ field: "thinking.type", message: "must be a string" });
  }
  const config = objectIn(json, "output_config", wrong);
  if (config.task_budget != null) warnings.push(notSupported("output_config.task_budget"));
  if (conversation.isTuned)
    warnings.push("messages: output_config in them is not supported, ignored");
  if (conversation.keepsSizes)
    warnings.push("messages: oversized_image of images is not supported, ignored");
  const members = {
    // What stands in `system` alone is no conversation.
    messages: asks(json.messages) ? conversation.messages : json.messages,
    stop: json.stop_sequences,
    tools: offer.tools,
    tool_choice: offer.choice,
    parallel_tool_calls: offer.parallel,
    // Its older name, of clients that ask by the beta's path.
    response_format: formatOf(config.format ?? json.output_format),
    reasoning_effort: effortOf(thinking, config, wrong),
    user: objectIn(json, "metadata", wrong).user_id,
    include_reasoning: json.include_reasoning ?? thinks(thinking),
    // Of an account's own capacity, not of a price.
    service_tier: undefined,
  };
  const { message, violations } = decode(withMembers(json, members));
  const { stream } = answerForm({ stream: json.stream }, violations);
  // Not pushed as arguments, of which there may be too many for the stack.
  const faults = [...violations, ...conversation.violations, ...wrong];
  const refused = refusedIn(json) ?? conversation.refused ?? offer.refused;
  const said = [...conversation.violations, ...wrong].map(({ field }) => field);
  const own = new Set([...said, refused?.param]);
  const effort = saysEffort(thinking, config) ? "thinking" : "output_config.effort";
  const format =
    config.format == null && asks(json.output_format) ? "output_format" : "output_config.format";
  const names = namesOf(conversation.places, offer.places, own, effort, format);
  const defect = faults.length > 0 ? invalidFields(faults) : refused;
  return {
    message,
    stream,
    defect,
    warnings,
    names,
    hidesThoughts: thinking.display === "omitted",
  };
}

const asks = (value: unknown): boolean =>
  value != null && !(Array.isArray(value) && value.length === 0);

function refusedIn(json: JsonObject): LintelError | undefined {
  const name = Object.keys(refusals).find((one) => asks(json[one]));
  if (name !== undefined) return unsupported(name, refusals[name]);
  const { bill_to: payer = "self" } = isObject(json.billing_policy) ? json.billing_policy : {};
  return payer === "self"
    ? undefined
    : unsupported("billing_policy", "nobody else is billed for a request here");
}

const notSupported = (name: string): string => `${name}: not supported, ignored`;

function objectIn(json: JsonObject, name: string, into: Violation[]): JsonObject {
  const value = json[name] ?? {};
  if (isObject(value)) return value;
  into.push({ field: name, message: "must be an object" });
  return {};
}

/** Who does not ask for thoughts gets none: many a client takes the first block for the text. */
const thinks = ({ type }: JsonObject): boolean =>
  type === "enabled" || type === "adaptive" || type === "between_tools";

/** Whether `thinking` says how much to think, and not the configuration of the answer. */
const saysEffort = ({ type }: JsonObject, { effort }: JsonObject): boolean =>
  type === "disabled" || (type === "enabled" && effort == null);

/** How much to think; `undefined` where that is left to the model. */
function effortOf(thinking: JsonObject, config: JsonObject, into: Violation[]): unknown {
  const { type, budget_tokens: given } = thinking;
  const budget = given ?? 0;
  const isCount = typeof budget === "number" && Number.isInteger(budget) && budget >= 0;
  if (!isCount) {
    into.push({ field: "thinking.budget_tokens", message: "must be an integer of at least 0" });
  }
  if (!saysEffort(thinking, config)) return config.effort;
  return type === "disabled" ? "none" : effortOfBudget(isCount ? budget : 0);
}

/** The answer's form: the contract's schemas have a name. */
function formatOf(format: unknown): unknown {
  if (!isObject(format) || format.type !== "json_schema") return format;
  return { type: "json_schema", json_schema: { name: "output", schema: format.schema } };
}
