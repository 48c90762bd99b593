/** What of a request reaches each vendor, and what becomes of the rest. */
import { png, schema } from "./asked.js";
import { completionForms } from "./forms/completions.js";
import { responseForms } from "./forms/responses.js";
import { since7 } from "./installed.js";
import type { Form } from "./wire.js";
import {
  all,
  completionTokens,
  flat,
  inline,
  inParts,
  nested,
  ofServers,
  penalties,
  rare,
  schemas,
  type Wishes,
  whileThinking,
  words,
} from "./wishes.js";

/** What all have that are built on the provider for servers of OpenAI's form. */
const compatible: Wishes = {
  instead: {
    ...{ top_k: "warned", "image's detail": "warned", "one call": "warned", file: "refused" },
    ...{ ...inline, ...ofServers, logprobs: undefined },
  },
  hints: ["thoughts", "user", "lax tool"],
  efforts: words(all, flat),
};

/** Of vendors that serve open models: what their servers know is handed on. */
const openModels: Wishes = {
  ...compatible,
  instead: {
    ...compatible.instead,
    ...{ repetition_penalty: undefined, min_p: undefined, logit_bias: undefined },
  },
};

/** Of those of them that sell tiers. */
const sold: Wishes = {
  ...openModels,
  instead: { ...openModels.instead, service_tier: undefined },
};

/** Its provider has no form for schemas. */
const noSchemas = { schema: "refused", "lax schema": "refused" } as const;

/** What was said, in OpenAI's newer form: since AI SDK 7 what models said is no list. */
function said(role: string): Form {
  const text = JSON.stringify(responseForms.conversation).replace("system", role);
  const inLists = /\[{"type":"output_text","text":("[^"]*")}\]/g;
  return JSON.parse(since7(text, text.replace(inLists, "$1")));
}

const openai: Wishes = {
  forms: {
    conversation: said("developer"),
    "cache key": { prompt_cache_key: /^\S{16,}$/ },
  },
  instead: {
    ...{ ...whileThinking, top_k: "warned", stop: "refused", sound: "refused" },
    ...{ ...ofServers, ...penalties, verbosity: undefined, logprobs: undefined },
    service_tier: undefined,
  },
  hints: ["user", "cache key", "lax tool"],
  efforts: words("none low low medium high xhigh max", nested),
};

const empty: Form = {};

const switched = (word: string): Form =>
  word === "none"
    ? { thinking: { type: "disabled" } }
    : { thinking: { type: "enabled" }, reasoning_effort: word };

const adaptive = (effort: string): Form => {
  if (effort === "none") return { thinking: { type: "disabled" } };
  return { thinking: { type: "adaptive" }, output_config: { effort } };
};

const anthropic: Wishes = {
  instead: {
    // Beside temperature newer models take no top_p.
    ...{ top_p: "warned", seed: "warned", "image's detail": "warned" },
    ...{ sound: "refused", json: "refused" },
    ...{ ...ofServers, ...penalties },
  },
  hints: ["user", "lax tool", "marked part", "marked message", "marked tool"],
  efforts: words("none low low medium high high max", adaptive),
};

const bedrockWords = since7(
  "none low low medium high high max",
  "none low low medium high max max",
);

const google: Wishes = {
  instead: { "image's detail": "warned", "one call": "warned", ...inline, ...ofServers },
  hints: ["lax tool"],
  efforts: words("low low low medium high high high", (thinkingLevel) => ({
    generationConfig: { thinkingConfig: { thinkingLevel } },
  })),
};

/** By package. */
export const wishes: Readonly<Record<string, Wishes>> = {
  "@ai-sdk/openai-compatible": {
    ...sold,
    instead: { ...sold.instead, verbosity: undefined },
  },
  "@ai-sdk/baseten": openModels,
  "@ai-sdk/cerebras": {
    ...compatible,
    forms: {
      ...since7<Wishes["forms"]>({}, completionTokens),
      thoughts: { messages: [{ role: "assistant", reasoning: "It looks wet." }] },
    },
  },
  "@ai-sdk/deepinfra": { ...sold, instead: { ...sold.instead, logit_bias: "warned" } },
  "@ai-sdk/fireworks": {
    ...sold,
    efforts: words(since7(all, "none low low medium high high high"), flat),
  },
  "@ai-sdk/togetherai": {
    ...openModels,
    forms: { ...openModels.forms, logprobs: { logprobs: 2 } },
    instead: { ...openModels.instead, ...noSchemas },
  },
  "@ai-sdk/google-vertex/maas": { ...compatible, instead: { ...compatible.instead, ...noSchemas } },
  "@ai-sdk/openai": { ...openai, forms: { ...openai.forms, user: { safety_identifier: "u-1" } } },
  "@ai-sdk/azure": openai,
  "@ai-sdk/xai": {
    forms: since7<Wishes["forms"]>(
      {
        ...completionTokens,
        ...schemas({ name: "place", strict: true }, { name: "place", strict: false }),
      },
      { conversation: said("system") },
    ),
    instead: { ...rare, ...penalties, stop: "refused", logprobs: undefined },
    hints: ["lax tool"],
    // It keeps to any schema to the letter.
    faults: since7<Wishes["faults"]>(
      { "lax schema": { response_format: { json_schema: { name: "place", strict: true } } } },
      { "lax schema": { text: { format: { name: "place", strict: true } } } },
    ),
    efforts: since7(
      words("none low low medium high xhigh xhigh", flat),
      words("none low low medium high high high", nested),
    ),
  },
  "@ai-sdk/anthropic": anthropic,
  "@ai-sdk/amazon-bedrock/anthropic": {
    ...anthropic,
    instead: { ...anthropic.instead, ...inline, "one call": "warned" },
    hints: ["lax tool", "marked part", "marked message", "marked tool"],
    efforts: words(bedrockWords, adaptive),
  },
  "@ai-sdk/google-vertex/anthropic": {
    ...anthropic,
    forms: {
      // A schema is a tool that has to be called.
      schema: { tools: [{ name: "json", input_schema: schema }], tool_choice: { type: "any" } },
      "lax schema": { tools: [{ name: "json", input_schema: schema }] },
    },
    instead: {
      ...anthropic.instead,
      ...inline,
      "strict tool": "warned",
      ...since7({ "lax tool": "warned" } as const, {}),
    },
    hints: ["marked part", "marked message", "marked tool"],
  },
  "@ai-sdk/amazon-bedrock": {
    forms: {
      // The only tool that is offered then.
      "named tool": {
        toolConfig: {
          tools: [{ toolSpec: { name: "get_time" } }],
          toolChoice: { tool: { name: "get_time" } },
        },
      },
    },
    instead: {
      ...{ seed: "warned", "image's detail": "warned", "one call": "warned" },
      ...{ sound: "refused", json: "refused" },
      ...{ ...inline, ...ofServers, ...penalties, service_tier: undefined },
    },
    hints: ["lax tool", "marked part", "marked message"],
    efforts: words(bedrockWords, (effort) =>
      effort === "none" ? empty : { additionalModelRequestFields: adaptive(effort) },
    ),
  },
  "@ai-sdk/google": { ...google, instead: { ...google.instead, service_tier: undefined } },
  "@ai-sdk/google-vertex": {
    ...google,
    instead: { "image's detail": "warned", "one call": "warned", ...ofServers },
  },
  "@ai-sdk/groq": {
    forms: { thoughts: { messages: [{ role: "assistant", reasoning: "It looks wet." }] } },
    instead: { ...rare, "one call": undefined, service_tier: undefined },
    hints: ["thoughts", "lax tool"],
    efforts: words("low low low medium high high high", flat),
  },
  "@ai-sdk/mistral": {
    forms: {
      seed: { random_seed: 4242 },
      conversation: inParts(completionForms.conversation),
      thoughts: {
        messages: [{ content: [{ type: "thinking", thinking: [{ text: "It looks wet." }] }] }],
      },
      image: { messages: [{ content: [{ type: "image_url", image_url: png }] }] },
      "image of a tool": {
        messages: [
          { role: "tool", content: "It looks so:" },
          { role: "user", content: [{ type: "image_url", image_url: png }] },
        ],
      },
      "some tool": { tool_choice: "any" },
      ...since7<Wishes["forms"]>(
        { "named tool": { tools: [{ function: { name: "get_time" } }], tool_choice: "any" } },
        {},
      ),
    },
    instead: { ...rare, ...inline, "one call": undefined },
    hints: ["thoughts", "lax tool"],
    efforts: words("none high high high high high high", flat),
  },
  "@ai-sdk/deepseek": {
    instead: {
      ...{ ...rare, ...penalties, ...whileThinking, "image's detail": undefined },
      logprobs: undefined,
      ...{ "strict tool": "warned", schema: "warned", "lax schema": "warned" },
    },
    hints: ["thoughts", "lax tool"],
    efforts: words("none low low high high max max", switched),
  },
  "@ai-sdk/moonshotai": {
    forms: {
      ...completionTokens,
      ...schemas({ name: "place", strict: true }, { name: "place", strict: false }),
    },
    instead: { ...rare, ...penalties, ...whileThinking, ...inline, logprobs: undefined },
    hints: ["thoughts", "lax tool"],
    efforts: words(since7("low low low low high high max", "low low low high high max max"), flat),
  },
  "@ai-sdk/alibaba": {
    forms: { conversation: inParts(completionForms.conversation) },
    instead: {
      ...{ ...rare, top_k: undefined, "one call": undefined, frequency_penalty: "warned" },
      ...{ schema: "warned", "lax schema": "warned" },
    },
    hints: ["thoughts", "lax tool"],
    efforts: words("false true true true true true true", (word) => ({
      enable_thinking: word === "true",
    })),
  },
  "@ai-sdk/cohere": {
    forms: {
      schema: { response_format: { type: "json_object", json_schema: schema } },
      "lax schema": { response_format: { type: "json_object", json_schema: schema } },
    },
    instead: { ...rare, top_k: undefined, "strict tool": "warned", conversation: "warned" },
    efforts: words("disabled enabled enabled enabled enabled enabled enabled", (type) => ({
      thinking: { type },
    })),
  },
  "@ai-sdk/perplexity": {
    forms: schemas({}),
    instead: {
      ...{ ...rare, ...inline, seed: "warned", stop: "refused", json: "refused" },
      ...{ tools: "warned", "strict tool": "warned", "no tool": "warned" },
      ...{ "named tool": "refused", "some tool": "refused", conversation: "warned" },
      ...{
        thoughts: "warned",
        "image of a tool": "warned",
        "lax tool": "warned",
        "marked tool": "warned",
      },
    },
    efforts: words("minimal minimal low medium high high high", flat),
  },
  "@ai-sdk/huggingface": {
    forms: {
      image: responseForms.image,
      "named tool": { tools: [{ name: "get_time" }], tool_choice: "required" },
      "no tool": { input: [{ role: "user" }] },
    },
    instead: {
      ...{ ...rare, ...penalties, seed: "warned", stop: "refused", json: "refused" },
      ...{ "strict tool": "warned", conversation: "warned", "image of a tool": "warned" },
    },
    efforts: words(all, nested),
  },
};
