/** What is known of the packages of chat providers besides their common interface. */
import { files } from "../../core/documents.js";
import type { JsonObject } from "../../core/json.js";
import { cacheControl } from "../../core/prompt-marks.js";
import { besideCalls, strictTools, tools } from "../completions/fields.js";
import { claude, claudeOnBedrock } from "./claude.js";
import { anthropicCounts, type Counts, googleCounts, openaiCounts } from "./counts.js";
import type { Format } from "./details.js";
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
  type Thinking,
} from "./efforts.js";
import { jsonObject } from "./heed.js";
import { bedrockMark, claudeMark, type Marking } from "./marks.js";
import type { WrittenIn } from "./written.js";

/** How a chat provider takes what the common interface has no field for. */
export interface ChatPackage {
  /** Keys of its options in `providerOptions`. */
  readonly keys: readonly string[];
  /** Options of its create function that it has where the operator says nothing. */
  readonly options?: Readonly<Record<string, unknown>>;
  /** Whether `strictJsonSchema` is one of its options. */
  readonly strict?: boolean;
  /** Options that are sent where the operator says nothing. */
  readonly sent?: Readonly<Record<string, unknown>>;
  /** How it is told how much to think; absent: not at all, or by the common interface of AI SDK 7. */
  readonly thinking?: Thinking;
  /**
   * How it takes back what was thought: the `text` alone, text and details as `fields` of the
   * message, or only what was said in certain forms. Absent: nobody knows.
   */
  readonly thoughts?: "text" | "fields" | readonly Format[];
  /** Whether it takes PDFs, of one model or another. */
  readonly files?: boolean;
  /** Whether it takes sounds, of one model or another. */
  readonly sounds?: boolean;
  /**
   * What it leaves out without a word: request fields, and by the names under which it is remembered, values of
   * them. A request that needs it is refused.
   */
  readonly leaves?: readonly string[];
  /** Whether it takes back neither calls of tools nor their results, which are told as texts then. */
  readonly forgetsCalls?: boolean;
  /** Whether it can't tell its vendor which tool is to be called, or that none is: only those are offered then. */
  readonly offersChosen?: boolean;
  /** Whether streams have to be asked to count tokens, which its provider does not, or not by itself. */
  readonly asksUsage?: boolean;
  /** How `max` is said, where the common interface's is a word that its provider does not know: by a lesser word, or its own options. */
  readonly max?: "xhigh" | "options";
  /** Options that tell it whom a call is for; absent: it has none. */
  readonly user?: (id: string) => JsonObject;
  /** Options that say whether one answer may call several tools; absent: it has none. */
  readonly parallel?: (may: boolean) => JsonObject;
  /** How it is told of `top_k`, for a model; absent: by the common interface. */
  readonly topK?: (model: string) => ((topK: number) => JsonObject) | undefined;
  /** Options with the key by which its vendor finds a prompt's begin again; absent: it has none. */
  readonly cacheKey?: (key: string) => JsonObject;
  /** Where its vendor has arguments of calls as objects; absent: nowhere, they are texts. */
  readonly written?: WrittenIn;
  /** How it is told of marks for its vendor's cache of prompts; absent: not at all. */
  readonly marking?: Marking;
  /** Models of it that refuse them. Default: none. */
  readonly unmarked?: RegExp;
  /** How its vendor counts tokens of prompts; absent: it does not, or not in a way that is known here. */
  readonly counts?: Counts;
}

/** All that is built on the provider for any server of OpenAI's form, which also reads this key. */
const compatible: ChatPackage = {
  keys: ["openaiCompatible"],
  strict: true,
  sounds: true,
  asksUsage: true,
  thinking: levels(),
  thoughts: "fields",
  user: (user) => ({ user }),
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

const openaiKey = (promptCacheKey: string) => ({ promptCacheKey });

const anthropic: ChatPackage = {
  keys: ["anthropic"],
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
};

const packages: Readonly<Record<string, ChatPackage>> = {
  "@ai-sdk/openai-compatible": {
    ...compatible,
    // Without it a schema is left out; a server that takes none says so itself.
    options: { supportsStructuredOutputs: true },
  },
  "@ai-sdk/baseten": compatible,
  "@ai-sdk/cerebras": compatible,
  "@ai-sdk/deepinfra": compatible,
  "@ai-sdk/fireworks": { ...compatible, max: "xhigh" },
  "@ai-sdk/togetherai": compatible,
  "@ai-sdk/google-vertex/maas": compatible,
  "@ai-sdk/openai": {
    keys: ["openai"],
    strict: true,
    sent: stateless,
    thinking: openaiEffort,
    thoughts: ["openai-responses-v1"],
    files: true,
    user: (safetyIdentifier) => ({ safetyIdentifier }),
    cacheKey: openaiKey,
    parallel: parallelCalls,
    counts: openaiCounts,
  },
  "@ai-sdk/azure": {
    keys: ["openai", "azure"],
    strict: true,
    sent: stateless,
    thinking: openaiEffort,
    thoughts: ["azure-openai-responses-v1", "openai-responses-v1"],
    files: true,
    user: (user) => ({ user }),
    cacheKey: openaiKey,
    parallel: parallelCalls,
  },
  "@ai-sdk/xai": {
    keys: ["xai"],
    max: "xhigh",
    sent: stateless,
    thinking: levels("none", "low", "medium", "high", "xhigh"),
    thoughts: ["xai-responses-v1"],
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
    leaves: [jsonObject],
    topK: topKOnBedrock,
    thoughts: ["anthropic-claude-v1"],
    files: true,
    written: "whole",
    marking: bedrockMark,
    // All but Claude and Nova; an application's profile may be of either.
    unmarked: /^(?!.*(?:anthropic\.|nova-|application-inference-profile))/,
  },
  "@ai-sdk/google": { ...vertex, keys: ["google"], counts: googleCounts },
  "@ai-sdk/google-vertex": vertex,
  "@ai-sdk/groq": {
    ...{ keys: ["groq"], strict: true, thinking: groq, thoughts: "text" },
    parallel: parallelCalls,
  },
  "@ai-sdk/mistral": {
    ...{ keys: ["mistral"], strict: true, thinking: mistral, thoughts: "text" },
    parallel: parallelCalls,
  },
  "@ai-sdk/deepseek": {
    ...{ keys: ["deepseek"], strict: true, thinking: deepseek, thoughts: "text", max: "options" },
  },
  "@ai-sdk/moonshotai": {
    ...{ keys: ["moonshotai"], strict: true, thinking: moonshot, thoughts: "text", max: "options" },
  },
  "@ai-sdk/alibaba": {
    ...{ keys: ["alibaba"], thinking: alibaba, thoughts: "text", max: "options" },
    parallel: parallelCalls,
  },
  "@ai-sdk/cohere": {
    ...{ keys: ["cohere"], thinking: cohere, thoughts: [], max: "options" },
    leaves: [strictTools, besideCalls],
  },
  "@ai-sdk/perplexity": {
    ...{ keys: ["perplexity"], thinking: perplexity, thoughts: [] },
    leaves: [tools, jsonObject],
  },
  "@ai-sdk/huggingface": {
    ...{ keys: ["huggingface"], strict: true, thinking: huggingface },
    // It would say thoughts again as a part of the answer.
    thoughts: [],
    leaves: [strictTools, jsonObject],
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
    ...chatFields,
    ...(known.topK && !known.topK(model) ? [] : ["top_k"]),
    ...(known.parallel ? ["parallel_tool_calls"] : []),
    ...(known.sounds ? ["input_audio"] : []),
    ...(known.files ? [files] : []),
    ...(known.marking && !known.unmarked?.test(model) ? [cacheControl] : []),
    ...(thinks ? ["reasoning_effort"] : []),
  ];
}
