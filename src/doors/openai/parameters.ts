/** OpenAI's request parameters that the contract does not have. */
import { LLMRequestSchema } from "../../../gen/lintel/v1/chat_pb.js";
import { choicesOf } from "../../core/rules.js";
import { refuse, refuseSince, rules, warn } from "./parameter-rules.js";
import { chatsOfServers, lengths, otherForms } from "./server-parameters.js";

/** What an answer may have: one with something else is refused, and what is left of it asked for. */
export const modalities = choicesOf(LLMRequestSchema.field.modalities);

/** Tiers of service that the contract has, too. */
const tiers: readonly unknown[] = ["flex", "priority"];

/** The others ask for the ordinary one, by the names that OpenAI, Google and Groq have for it. */
const service_tier = { ...warn("auto", "default", "standard", "on_demand"), taken: tiers };

/** The tier of service that a request asks for, as the contract has it: of others there are warnings, or they ask for nothing. */
export const tierOf = (value: unknown): unknown => (tiers.includes(value) ? value : undefined);

/**
 * Of `POST /v1/chat/completions`. What is neither here nor in the contract
 * (`metadata`, `store`…) does not change the answer and is ignored.
 */
export const chatParameters = rules({
  ...otherForms,
  ...chatsOfServers,
  audio: warn(),
  // Azure's, for answers by what is found in documents.
  data_sources: refuse(),
  function_call: refuse("none", "auto"),
  functions: warn(),
  // Mistral's, as `moderation` is OpenAI's.
  guardrails: refuse(),
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
  ...lengths,
  ...otherForms,
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
