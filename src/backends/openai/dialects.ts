/** What the OpenAI-compatible servers take, as their own sources and references have it. */
import { type SamplingField, samplingFields } from "../completions/refusals/sampling.js";
import type { Dialect } from "./dialect.js";
import type { Listed } from "./listed.js";
import { gbnf, regexAs, regexOrEbnf, structuredOutputs } from "./text-forms.js";

/**
 * Since Gemini 3 calls without a signature are refused. Google's own word for those that have
 * none: most clients don't keep what they don't know, and calls may be another model's.
 */
const skipSignature = (model: string): object | undefined =>
  /gemini-[12]\D/.test(model)
    ? undefined
    : { google: { thought_signature: "skip_thought_signature_validator" } };

/** For chat templates: Qwen's, GLM's and Gemma's ask by the first name, DeepSeek's and Granite's by the second. */
const templateThinking = (effort: string) => ({
  chat_template_kwargs: { enable_thinking: effort !== "none", thinking: effort !== "none" },
});

/** Z.ai's, DeepSeek's and Moonshot's switch. */
const typedThinking = (effort: string) => ({
  thinking: { type: effort === "none" ? "disabled" : "enabled" },
});

/** Alibaba's and SiliconFlow's. */
const enabledThinking = (effort: string) => ({ enable_thinking: effort !== "none" });

const lacking = (...fields: readonly SamplingField[]): ReadonlySet<string> => new Set(fields);

/** What only OpenAI's newer models know, and who stands before them, and what is sold. */
const openOnes = lacking("verbosity", "service_tier");
/** Of vendors whose own form has the fields of OpenAI's older models, and no others. */
const plainFields = ["repetition_penalty", "min_p", "verbosity", "logit_bias"] as const;
const plain = lacking(...plainFields, "service_tier");

const openSource: Dialect = {
  maxTokens: "max_tokens",
  topK: true,
  lacks: openOnes,
  penalty: "repetition_penalty",
  wholeTopP: true,
  developer: false,
  lastSeed: 2 ** 32 - 1,
  images: "unknown",
  user: "user",
};

const dialects = {
  openai: {
    ...openSource,
    ...{ maxTokens: "max_completion_tokens", topK: false, developer: true, images: "openai" },
    ...{ forgetsThoughts: true, files: true, user: "safety_identifier" },
    keyField: true,
    lacks: lacking("repetition_penalty", "min_p"),
  },
  vllm: {
    ...openSource,
    ...{ images: "vllm", thinking: templateThinking, counts: "tokenize" },
    forms: structuredOutputs,
    // vLLM-Omni, which says the same of itself.
    draws: true,
  },
  sglang: {
    ...openSource,
    ...{ images: "sglang", thinking: templateThinking, forms: regexOrEbnf },
  },
  llamacpp: {
    ...openSource,
    lastSeed: 2 ** 32 - 2,
    thinking: templateThinking,
    counts: "input_tokens",
    penalty: "repeat_penalty",
    forms: gbnf,
  },
  ollama: {
    ...openSource,
    topK: false,
    lastSeed: 2 ** 32 - 2,
    images: "ollama",
    tag: ":latest",
    lacks: plain,
  },
  lmstudio: {
    ...openSource,
    ...{
      lacks: lacking("min_p", "verbosity", "service_tier"),
      penalty: "repeat_penalty",
      logprobs: "none",
    },
  },
  tgi: {
    ...openSource,
    // It has no `top_k` in this API, and takes the one penalty for the other.
    ...{ topK: false, wholeTopP: false, penalty: "presence_penalty", forms: regexAs("value") },
    lacks: lacking("presence_penalty", "min_p", "verbosity", "service_tier", "logit_bias"),
  },
  localai: { ...openSource, images: "localai", penalty: "repeat_penalty", forms: gbnf },
  sdcpp: { ...openSource, images: "sdcpp" },
  // Else it lists only what answers with text.
  openrouter: {
    ...openSource,
    ...{ images: "openrouter", listed: "output_modalities=text,image", files: true, marks: true },
    ...{ draws: true, lacks: lacking(), listsFields: true },
  },
  together: {
    ...openSource,
    ...{ images: "together", logprobs: "count", forms: regexAs("pattern") },
  },
  nebius: { ...openSource, images: "nebius" },
  siliconflow: {
    ...openSource,
    ...{ images: "siliconflow", thinking: enabledThinking },
    lacks: lacking(
      ...([
        "presence_penalty",
        "repetition_penalty",
        "verbosity",
        "service_tier",
        "logit_bias",
      ] as const),
    ),
  },
  recraft: { ...openSource, images: "recraft" },
  deepinfra: {
    ...openSource,
    images: "deepinfra",
    keyField: true,
    lacks: lacking("verbosity", "logit_bias"),
  },
  google: {
    ...openSource,
    ...{ images: "google", unsigned: skipSignature, forgetsThoughts: true, lacks: plain },
  },
  xai: {
    ...openSource,
    ...{ images: "xai", keyHeader: "x-grok-conv-id", lacks: lacking(...plainFields) },
  },
  zai: { ...openSource, images: "zai", thinking: typedThinking, lacks: lacking(...samplingFields) },
  deepseek: { ...openSource, thinking: typedThinking, lacks: lacking(...samplingFields) },
  moonshot: { ...openSource, thinking: typedThinking, keyField: true, lacks: plain },
  dashscope: {
    ...openSource,
    ...{ thinking: enabledThinking, marks: true },
    lacks: lacking("frequency_penalty", "min_p", "verbosity", "service_tier", "logit_bias"),
  },
  // Else it lists only what answers with text.
  venice: {
    ...openSource,
    ...{ images: "venice", listed: "type=all" },
    lacks: lacking("verbosity", "service_tier", "logit_bias"),
  },
  infomaniak: { ...openSource, images: "infomaniak" },
} as const satisfies Record<string, Dialect>;

/** Of a server that nobody knows, which may stand before any other. */
const unknown: Dialect = {
  ...openSource,
  ...{ files: true, counts: "input_tokens", draws: true, lacks: lacking() },
};

/** Name of a dialect in the configuration. */
export type DialectName = keyof typeof dialects;

/** Names of all dialects. */
export const dialectNames = Object.keys(dialects) as [DialectName, ...DialectName[]];

/** What servers say of themselves in `owned_by` of their lists of models. Ollama has other owners, too. */
const owners = new Map<string, DialectName>([
  ["vllm", "vllm"],
  ["sglang", "sglang"],
  ["llamacpp", "llamacpp"],
  ["library", "ollama"],
  ["organization_owner", "lmstudio"],
]);

/** Where those are that have an address of their own; some have further ones, for regions. */
const hosts: readonly (readonly [RegExp, DialectName])[] = [
  [/(?:^|\.)api\.openai\.com$/, "openai"],
  [/(?:^|\.)openrouter\.ai$/, "openrouter"],
  [/^api\.together\.(?:xyz|ai)$/, "together"],
  [/^api\.(?:.+\.)?nebius\.(?:com|ai)$/, "nebius"],
  [/^api(?:-st)?\.siliconflow\.(?:com|cn)$/, "siliconflow"],
  [/(?:^|\.)api\.recraft\.ai$/, "recraft"],
  [/^api\.deepinfra\.com$/, "deepinfra"],
  [/^generativelanguage\.googleapis\.com$/, "google"],
  [/(?:^|\.)api\.x\.ai$/, "xai"],
  [/^(?:api\.z\.ai|open\.bigmodel\.cn)$/, "zai"],
  [/^api\.deepseek\.com$/, "deepseek"],
  [/^api\.moonshot\.(?:ai|cn)$/, "moonshot"],
  [/^dashscope(?:-[a-z]+)?\.aliyuncs\.com$/, "dashscope"],
  [/^api\.venice\.ai$/, "venice"],
  [/^api\.infomaniak\.com$/, "infomaniak"],
];

/**
 * The dialect of a server. `auto` goes by the address and by what the server
 * says; a server that nobody knows is taken for one that honours everything.
 * @param listed its models, if it has been asked
 */
export function dialectOf(
  name: DialectName | "auto",
  url: URL,
  listed: readonly Listed[] = [],
): Dialect {
  if (name !== "auto") return dialects[name];
  const service = hosts.find(([host]) => host.test(url.hostname))?.[1];
  if (service) return dialects[service];
  const known = listed.find(({ ownedBy }) => owners.has(ownedBy));
  const server =
    (known && owners.get(known.ownedBy)) ??
    (isTgi(listed) ? "tgi" : isSdcpp(listed) ? "sdcpp" : undefined);
  return server === undefined ? unknown : dialects[server];
}

/** Text Generation Inference lists its one model as its own owner. */
const isTgi = ([model, ...others]: readonly Listed[]): boolean =>
  model !== undefined && others.length === 0 && model.ownedBy === model.id;

/** stable-diffusion.cpp has one name for whatever it draws with. Its owner is that of many a server in Python, too. */
const isSdcpp = (listed: readonly Listed[]): boolean =>
  listed.some(({ id, ownedBy }) => id === "sd-cpp-local" && ownedBy === "local");
