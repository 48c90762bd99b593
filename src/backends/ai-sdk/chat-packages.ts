/** What is known of the packages of chat providers besides their common interface. */
import { files } from "../../core/documents.js";
import type { JsonObject } from "../../core/json.js";
import { logprobs, modalities } from "../../core/parameters.js";
import { cacheControl } from "../../core/prompt-marks.js";
import { besideCalls, tools } from "../completions/fields.js";
import { strictness } from "../completions/refusals/tool-schemas.js";
import type { ChatPackage } from "./chat-package.js";
import { claude, claudeOnBedrock } from "./claude.js";
import { anthropicCounts, googleCounts, openaiCounts } from "./counts.js";
import { geminiDrawing } from "./drawing.js";
import {
  alibaba,
  cohere,
  deepseek,
  gemini,
  groq,
  huggingface,
  levels,
  mistral,
  moonshot,
  openai as openaiEffort,
  perplexity,
} from "./efforts.js";
import { jsonObject } from "./heed.js";
import { compatibleTokens, namedTokens, openaiTokens, togetherTokens } from "./logprobs.js";
import { bedrockMark, claudeMark } from "./marks.js";

/** All that is built on the provider for any server of OpenAI's form, which also reads this key. */
const compatible: ChatPackage = {
  keys: ["openaiCompatible"],
  strict: true,
  sounds: true,
  asksUsage: true,
  thinking: levels(),
  thoughts: "fields",
  user: (user) => ({ user }),
  tokens: compatibleTokens,
};

/** Without being stored thoughts come back encrypted, and nothing of a conversation is bound to an account. */
const stateless = { store: false };

const parallelCalls = (parallelToolCalls: boolean) => ({ parallelToolCalls });

/** Its provider has it beside what all models know, where Bedrock does not look. */
function topKOnBedrock(model: string) {
  const inFields = (additionalModelRequestFields: JsonObject) => ({ additionalModelRequestFields });
  if (model.includes("claude")) return (top_k: number) => inFields({ top_k });
  if (!/\bnova-/.test(model)) return undefined;
  return (topK: number) => inFields({ inferenceConfig: { topK } });
}

/** What servers of open models know besides, most of them. */
const extras = ["repetition_penalty", "min_p", "logit_bias"] as const;
const deepinfraExtras = ["repetition_penalty", "min_p"] as const;

const penalties = ["frequency_penalty", "presence_penalty"] as const;

const textVerbosity = (level: string) => ({ textVerbosity: level });

/** @param others what its vendor calls tiers by other names; those without a name it does not have */
const namedTier =
  (others: Readonly<Record<string, string | undefined>> = {}) =>
  (tier: string): JsonObject | undefined => {
    const serviceTier = Object.hasOwn(others, tier) ? others[tier] : tier;
    return serviceTier === undefined ? undefined : { serviceTier };
  };

const openaiKey = (promptCacheKey: string) => ({ promptCacheKey });

const anthropic: ChatPackage = {
  keys: ["anthropic"],
  lacks: penalties,
  thinking: claude,
  thoughts: ["anthropic-claude-v1"],
  files: true,
  written: "whole",
  marking: claudeMark,
  parallel: (may) => ({ disableParallelToolUse: !may }),
};

const vertex: ChatPackage = {
  keys: ["google", "vertex", "googleVertex"],
  thinking: gemini,
  thoughts: ["google-gemini-v1"],
  files: true,
  sounds: true,
  written: "always",
  drawing: geminiDrawing,
};

const packages: Readonly<Record<string, ChatPackage>> = {
  "@ai-sdk/openai-compatible": {
    ...compatible,
    ...{ extras, verbosity: textVerbosity, tier: "extra" },
    // Without it a schema is left out; a server that takes none says so itself.
    options: { supportsStructuredOutputs: true },
  },
  "@ai-sdk/baseten": { ...compatible, extras },
  "@ai-sdk/cerebras": compatible,
  "@ai-sdk/deepinfra": { ...compatible, extras: deepinfraExtras, tier: "extra" },
  "@ai-sdk/fireworks": { ...compatible, extras, max: "xhigh", tier: "extra" },
  "@ai-sdk/togetherai": { ...compatible, extras, tokens: togetherTokens },
  "@ai-sdk/google-vertex/maas": compatible,
  "@ai-sdk/openai": {
    keys: ["openai"],
    strict: true,
    sent: stateless,
    lacks: penalties,
    thinking: openaiEffort,
    thoughts: ["openai-responses-v1"],
    files: true,
    user: (safetyIdentifier) => ({ safetyIdentifier }),
    cacheKey: openaiKey,
    verbosity: textVerbosity,
    tier: namedTier(),
    parallel: parallelCalls,
    counts: openaiCounts,
    tokens: openaiTokens,
  },
  "@ai-sdk/azure": {
    keys: ["openai", "azure"],
    strict: true,
    sent: stateless,
    lacks: penalties,
    thinking: openaiEffort,
    thoughts: ["azure-openai-responses-v1", "openai-responses-v1"],
    files: true,
    user: (user) => ({ user }),
    cacheKey: openaiKey,
    verbosity: textVerbosity,
    tier: namedTier(),
    parallel: parallelCalls,
    tokens: openaiTokens,
  },
  "@ai-sdk/xai": {
    keys: ["xai"],
    max: "xhigh",
    sent: stateless,
    lacks: penalties,
    thinking: levels("none", "low", "medium", "high", "xhigh"),
    thoughts: ["xai-responses-v1"],
    tier: namedTier({ flex: undefined }),
    // Its provider takes no more.
    tokens: namedTokens(8),
  },
  "@ai-sdk/anthropic": {
    ...anthropic,
    user: (userId) => ({ metadata: { userId } }),
    counts: anthropicCounts,
  },
  "@ai-sdk/amazon-bedrock/anthropic": {
    ...anthropic,
    max: "options",
    // Its provider takes it out again.
    parallel: undefined,
  },
  "@ai-sdk/google-vertex/anthropic": anthropic,
  "@ai-sdk/amazon-bedrock": {
    keys: ["bedrock", "amazonBedrock"],
    thinking: claudeOnBedrock,
    max: "options",
    lacks: penalties,
    leaves: [jsonObject],
    tier: namedTier(),
    topK: topKOnBedrock,
    thoughts: ["anthropic-claude-v1"],
    files: true,
    written: "whole",
    marking: bedrockMark,
    // All but Claude and Nova; an application's profile may be of either.
    unmarked: /^(?!.*(?:anthropic\.|nova-|application-inference-profile))/,
  },
  "@ai-sdk/google": {
    ...vertex,
    keys: ["google"],
    counts: googleCounts,
    tier: namedTier({ default: "standard" }),
  },
  "@ai-sdk/google-vertex": vertex,
  "@ai-sdk/groq": {
    ...{ keys: ["groq"], strict: true, thinking: groq, thoughts: "text" },
    tier: namedTier({ default: "on_demand", priority: undefined }),
    parallel: parallelCalls,
  },
  "@ai-sdk/mistral": {
    ...{ keys: ["mistral"], strict: true, thinking: mistral, thoughts: "text" },
    parallel: parallelCalls,
  },
  "@ai-sdk/deepseek": {
    ...{ keys: ["deepseek"], strict: true, thinking: deepseek, thoughts: "text", max: "options" },
    lacks: penalties,
    tokens: namedTokens(),
  },
  "@ai-sdk/moonshotai": {
    ...{ keys: ["moonshotai"], strict: true, thinking: moonshot, thoughts: "text", max: "options" },
    tokens: namedTokens(),
  },
  "@ai-sdk/alibaba": {
    ...{ keys: ["alibaba"], thinking: alibaba, thoughts: "text", max: "options" },
    lacks: ["frequency_penalty"],
    parallel: parallelCalls,
  },
  "@ai-sdk/cohere": {
    ...{ keys: ["cohere"], thinking: cohere, thoughts: [], max: "options" },
    leaves: [strictness, besideCalls],
  },
  "@ai-sdk/perplexity": {
    ...{ keys: ["perplexity"], thinking: perplexity, thoughts: [] },
    leaves: [tools, jsonObject],
  },
  "@ai-sdk/huggingface": {
    ...{ keys: ["huggingface"], strict: true, thinking: huggingface },
    lacks: penalties,
    // It would say thoughts again as a part of the answer.
    thoughts: [],
    leaves: [strictness, jsonObject],
    forgetsCalls: true,
    offersChosen: true,
  },
};

/** What is known of a package's chat models. */
export const chatPackage = (name: string): ChatPackage =>
  packages[name.replace(/\/edge$/, "")] ?? unknown;

const unknown: ChatPackage = { keys: [], sounds: true };

/** Fields of chat requests that the common interface has. */
const chatFields = [
  ...["temperature", "max_tokens", "top_p", "seed", "stop"],
  ...penalties,
  ...["tools", "tool_choice", "response_format"],
  "image_url",
];

/**
 * Request fields that a chat model can honour, by their names.
 * @param name the package's
 * @param thinks whether it can be told how much to think
 */
export function fieldsOfChat(name: string, model: string, thinks: boolean): string[] {
  const known = chatPackage(name);
  return [
    ...chatFields.filter((field) => !known.lacks?.includes(field)),
    ...(known.topK && !known.topK(model) ? [] : ["top_k"]),
    ...(known.extras ?? []),
    ...(known.verbosity ? ["verbosity"] : []),
    ...(known.tier ? ["service_tier"] : []),
    ...(known.parallel ? ["parallel_tool_calls"] : []),
    ...(known.sounds ? ["input_audio"] : []),
    ...(known.files ? [files] : []),
    ...(known.marking && !known.unmarked?.test(model) ? [cacheControl] : []),
    ...(thinks ? ["reasoning_effort"] : []),
    ...(known.drawing?.models.test(model) ? [modalities, "image_config"] : []),
    ...(known.tokens ? [logprobs, "top_logprobs"] : []),
  ];
}
