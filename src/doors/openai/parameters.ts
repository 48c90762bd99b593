/** OpenAI's request parameters that the contract does not have. */
import { LLMRequestSchema } from "../../../gen/lintel/v1/chat_pb.js";
import { type LintelError, unsupported } from "../../core/errors.js";
import { isObject, type JsonObject } from "../../core/json.js";
import { choicesOf } from "../../core/rules.js";
import { fields, type Known } from "../json/known.js";

/** What becomes of a parameter that asks for something. */
interface Rule {
  /** Values that ask for nothing; `null` and an empty array never do. */
  readonly neutral: readonly unknown[];
  /** Values that the contract has, too. */
  readonly taken?: readonly unknown[];
  /** Dropped with a warning, or refused because the client would look for what no answer has. */
  readonly otherwise: "warn" | "refuse";
  /** The member of an object that may stand for it with such a value; `type` by default. */
  readonly member?: string;
  /** Whether `{}` asks for something, too: for it with its defaults. */
  readonly emptyAsks?: boolean;
  /** Why it is refused, where that is not what is supported instead. */
  readonly why?: string;
}

const warn = (...neutral: unknown[]): Rule => ({ neutral, otherwise: "warn" });
const refuse = (...neutral: unknown[]): Rule => ({ neutral, otherwise: "refuse" });

const refuseSince = (why: string): Rule => ({ ...refuse(), why });

/** Forms of answers that are no schema's: a grammar, an expression, one of several texts. */
const otherForm = refuseSince("an answer's form can be a JSON schema's alone here");
const choice = refuseSince(
  "an answer's form can be a JSON schema's alone here, such as that of an object with an enum",
);

/** What an answer may have: one with something else is refused, and what is left of it asked for. */
export const modalities = choicesOf(LLMRequestSchema.field.modalities);

/** By the parameters' names. */
type Rules = ReadonlyMap<string, Rule>;

const rules = (table: Readonly<Record<string, Rule>>): Rules => new Map(Object.entries(table));

/** Tiers of service that the contract has, too. */
const tiers: readonly unknown[] = ["flex", "priority"];

/** The others ask for the ordinary one, by the names that OpenAI, Google and Groq have for it. */
const service_tier = { ...warn("auto", "default", "standard", "on_demand"), taken: tiers };

/** The tier of service that a request asks for, as the contract has it: of others there are warnings, or they ask for nothing. */
export const tierOf = (value: unknown): unknown => (tiers.includes(value) ? value : undefined);

/** What vLLM calls those of them that stand in requests and in NVIDIA's `nvext`. */
const guided = {
  guided_choice: choice,
  guided_decoding_backend: warn(),
  guided_grammar: otherForm,
  guided_regex: otherForm,
  guided_whitespace_pattern: warn(),
} as const;

/** Of the form of an answer, as clients of other servers ask for it. */
const forms = {
  ...guided,
  // SGLang's.
  ebnf: otherForm,
  // llama.cpp's, and LocalAI's.
  grammar: otherForm,
  regex: otherForm,
  structural_tag: otherForm,
} as const;

/** Of objects with forms of an answer: vLLM's `structured_outputs`, and `nvext`. */
export const structuredParameters = rules({
  ...guided,
  _backend: warn(),
  choice,
  disable_additional_properties: warn(false),
  disable_any_whitespace: warn(false),
  disable_fallback: warn(false),
  grammar: otherForm,
  regex: otherForm,
  structural_tag: otherForm,
  whitespace_pattern: warn(),
});

/**
 * Of `POST /v1/chat/completions`. What is neither here nor in the contract
 * (`metadata`, `store`…) does not change the answer and is ignored.
 */
export const chatParameters = rules({
  ...forms,
  n: refuse(1),
  // vLLM's, for an answer that goes on with the last message.
  add_generation_prompt: warn(true),
  audio: warn(),
  continue_final_message: warn(false),
  // Azure's, for answers by what is found in documents.
  data_sources: refuse(),
  function_call: refuse("none", "auto"),
  functions: warn(),
  // Mistral's, as `moderation` is OpenAI's.
  guardrails: refuse(),
  logit_bias: warn(),
  modalities: refuse(...modalities),
  // Who has an answer checked, or blocked, must not take one that nobody looked at for such.
  moderation: refuse(),
  prediction: warn(),
  // Mistral's system prompt, for models that think.
  prompt_mode: warn(),
  // Likewise, for safety.
  safe_prompt: {
    ...refuse(false),
    why: "nobody puts a prompt of Mistral's ahead here, send it as a system message",
  },
  service_tier,
  web_search_options: { ...warn(), emptyAsks: true },
});

const nothingKept = "nothing is kept here, send the whole conversation in input";

/** Of an object `reasoning`. */
export const reasoningParameters = rules({
  // Whatever of earlier thoughts is sent goes to the model.
  context: warn("auto", "all_turns"),
  max_tokens: warn(),
  mode: warn("standard"),
});

/** What `include` has for how likely the tokens of an answer were. */
export const toldLogprobs = "message.output_text.logprobs";

/** Of `POST /v1/responses`; `reasoning` and `text` have rules of their own. */
export const responseParameters = rules({
  ...forms,
  access_programs: { ...warn("standard"), member: "cyber" },
  background: refuse(false),
  background_options: { ...warn("soonest"), member: "completion_window" },
  context_management: warn(),
  conversation: refuseSince(nothingKept),
  image: { ...warn("auto", "disabled"), member: "context_compression" },
  // The first stands there, whether or not it is asked for; the other has a field in the contract.
  include: warn("reasoning.encrypted_content", toldLogprobs),
  moderation: refuse(),
  multi_agent: { ...warn(false), member: "enabled" },
  previous_response_id: refuseSince(nothingKept),
  prompt: refuseSince("no prompts are kept here, send it in input"),
  service_tier,
  truncation: warn("disabled"),
});

/** Of `POST /v1/images/generations`. */
export const imageParameters = rules({
  background: warn("auto", "opaque"),
  complexity: warn(),
  frame_count: warn(),
  frame_duration_ms: warn(),
  moderation: warn("auto"),
  output_compression: warn(100),
  output_format: warn("png"),
  quality: warn("auto", "standard"),
  style: warn("vivid"),
  svg: { ...warn(), emptyAsks: true },
});

/** What is read of parameters with rules: of an object one member. */
export const fieldsOfRules = (rules: Rules): Record<string, Known> =>
  Object.fromEntries(
    [...rules].map(([name, { member = "type" }]) => [name, fields({ [member]: true })]),
  );

/**
 * Looks for parameters that can't be honoured.
 * @param warnings gets a line for each that is dropped
 * @param within what their names begin with
 * @returns the error for the first that is refused
 */
export function checkParameters(
  json: JsonObject,
  rules: Rules,
  warnings: string[],
  within = "",
): LintelError | undefined {
  let refused: LintelError | undefined;
  // Requests have fewer parameters than there are rules.
  for (const name of Object.keys(json)) {
    const rule = rules.get(name);
    if (!rule) continue;
    const value = json[name];
    // Forms send what nobody filled in.
    const unset = value === undefined || value === null || value === "";
    if (unset || rule.taken?.includes(value) || isNeutral(value, rule)) continue;
    if (rule.otherwise === "warn") warnings.push(`${within}${name}: not supported, ignored`);
    else {
      const why = rule.why ?? `this gateway supports ${inWords(rule.neutral)}`;
      refused ??= unsupported(within + name, why);
    }
  }
  return refused;
}

const inWords = (values: readonly unknown[]) =>
  values.length === 0
    ? "nothing of the kind"
    : `only ${values.map((value) => JSON.stringify(value)).join(" and ")}`;

/** `{type: "text"}` stands for `"text"`, `["text"]` too. */
function isNeutral(value: unknown, rule: Rule): boolean {
  const { neutral, member = "type", emptyAsks = false } = rule;
  if (neutral.includes(value)) return true;
  if (Array.isArray(value)) return value.every((item) => neutral.includes(item));
  if (!isObject(value)) return false;
  const members = Object.keys(value);
  if (members.length === 0) return !emptyAsks;
  return members.length === 1 && neutral.includes(value[member]);
}
