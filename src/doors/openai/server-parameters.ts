/** Request parameters of servers of open models that the contract does not have. */
import { refuse, refuseSince, rules, warn } from "./parameter-rules.js";

/** A form of parts, some of them free. */
const parts = refuseSince(
  "no form of an answer that can be asked for here has parts: ask for a schema, a regex or a grammar",
);

/** What vLLM says of forms in requests, and in NVIDIA's `nvext`. */
const guided = {
  guided_decoding_backend: warn(),
  guided_whitespace_pattern: warn(),
} as const;

/** Of the form of an answer, as clients of other servers ask for it. */
export const otherForms = { ...guided, structural_tag: parts } as const;

/** Of objects with forms of an answer: vLLM's `structured_outputs`, and `nvext`. */
export const structuredParameters = rules({
  ...guided,
  _backend: warn(),
  disable_additional_properties: warn(false),
  disable_any_whitespace: warn(false),
  disable_fallback: warn(false),
  structural_tag: parts,
  whitespace_pattern: warn(),
});

/**
 * vLLM's, by which load generators (GuideLLM, AIPerf) have answers of one length, by responses, too: what they measure is
 * about shorter ones, and they have to be told.
 */
export const lengths = { ignore_eos: warn(false), min_tokens: warn(0) } as const;

/** vLLM's, of a chat: as its clients send them by `extra_body`. Tokens are numbers of one model's vocabulary. */
export const chatsOfServers = {
  ...lengths,
  add_generation_prompt: warn(true),
  allowed_token_ids: warn(),
  bad_words: warn(),
  best_of: warn(1),
  chat_template: warn(),
  continue_final_message: warn(false),
  // As Azure's `data_sources`.
  documents: refuse(),
  echo: warn(false),
  include_stop_str_in_output: warn(false),
  length_penalty: warn(1),
  logits_processors: warn(),
  logprob_token_ids: refuse(),
  prompt_logprobs: refuse(),
  return_prompt_text: refuse(false),
  return_token_ids: refuse(false),
  return_tokens_as_token_ids: refuse(false),
  stop_token_ids: warn(),
  thinking_token_budget: warn(),
  truncate_prompt_tokens: warn(-1),
  use_beam_search: warn(false),
} as const;
