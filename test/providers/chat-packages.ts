/** All chat packages that the backend knows, each before a server that speaks as its vendor does. */
import type { Backend } from "../../src/core/backend.js";
import { aiSdkBackend } from "../backends/ai-sdk-subject.js";
import { since7 } from "./installed.js";
import type { Wire } from "./wire.js";
import { anthropic } from "./wires/anthropic.js";
import { bedrock } from "./wires/bedrock.js";
import { cohere } from "./wires/cohere.js";
import { completions } from "./wires/completions.js";
import { google } from "./wires/google.js";
import { responses } from "./wires/responses.js";

/** A package, and how it is set up here. */
export interface Package {
  readonly name: string;
  readonly wire: Wire;
  /** A model that thinks, and is asked how much. */
  readonly model: string;
  /** What an error in the middle of a stream comes out as. Default: as it is reported. */
  readonly broken?: string;
  /** Options of its create function. */
  options(url: string): Readonly<Record<string, unknown>>;
}

const apiKey = "secret";

/** The usual options: a key, and an address with a path. */
const at = (path = "/v1") => ({
  options: (url: string) => ({ apiKey, baseURL: `${url}${path}` }),
});

/** An account of Google's that has its token already. */
const googleAuthOptions = { authClient: { getAccessToken: async () => ({ token: apiKey }) } };

const ofVertex = (path: string) => ({
  options: (url: string) => ({
    ...{ project: "p", location: "global", googleAuthOptions },
    baseURL: `${url}${path}`,
  }),
});

const deepseekUsage = {
  ...{ prompt_tokens: 40, prompt_cache_hit_tokens: 12, prompt_cache_miss_tokens: 28 },
  ...{ completion_tokens: 25, total_tokens: 65 },
  completion_tokens_details: { reasoning_tokens: 9 },
};

/** What it counts of an answer has no thoughts in it. */
const xaiUsage = {
  ...{ prompt_tokens: 40, completion_tokens: 16, total_tokens: 65 },
  prompt_tokens_details: { cached_tokens: 12 },
  completion_tokens_details: { reasoning_tokens: 9 },
};

const xaiError = (error: string, status: number) => ({ code: String(status), error });

const mistralThinks = ({ thoughts, text }: { thoughts?: string; text?: string }) =>
  thoughts === undefined
    ? (text ?? "")
    : [
        { type: "thinking", thinking: [{ type: "text", text: thoughts }] },
        ...(text === undefined ? [] : [{ type: "text", text }]),
      ];

/** All packages. */
export const packages: readonly Package[] = [
  {
    name: "@ai-sdk/openai-compatible",
    wire: completions({ askedForUsage: true }),
    model: "m",
    options: (url) => ({ name: "x", apiKey, baseURL: `${url}/v1` }),
  },
  { name: "@ai-sdk/baseten", wire: completions({ askedForUsage: true }), model: "m", ...at() },
  {
    name: "@ai-sdk/cerebras",
    wire: completions({
      thoughts: "reasoning",
      askedForUsage: true,
      error: (message, status) => ({ message, type: "x", param: null, code: String(status) }),
    }),
    model: "gpt-oss-120b",
    ...at(),
  },
  {
    name: "@ai-sdk/deepinfra",
    wire: completions({
      askedForUsage: true,
      error: (message) => ({ detail: { error: message } }),
    }),
    model: "openai/gpt-oss-120b",
    ...at(),
  },
  {
    name: "@ai-sdk/fireworks",
    wire: completions({
      error: (message) => ({ error: { object: "error", type: "invalid_request_error", message } }),
    }),
    model: "accounts/fireworks/models/gpt-oss-120b",
    ...at(),
  },
  {
    name: "@ai-sdk/togetherai",
    wire: completions({ thoughts: "reasoning" }),
    model: "openai/gpt-oss-120b",
    ...at(),
  },
  {
    name: "@ai-sdk/google-vertex/maas",
    wire: completions({ askedForUsage: true }),
    model: "openai/gpt-oss-120b-maas",
    ...ofVertex("/openapi"),
  },
  { name: "@ai-sdk/openai", wire: responses(), model: "gpt-5.6", ...at() },
  { name: "@ai-sdk/azure", wire: responses(), model: "gpt-5.6", ...at("/openai/v1") },
  {
    name: "@ai-sdk/xai",
    // Before AI SDK 7 it speaks of completions.
    wire: since7(
      completions({ usage: xaiUsage, wholeCalls: true, error: xaiError }),
      responses({ error: xaiError }),
    ),
    model: "grok-4",
    ...at(),
  },
  { name: "@ai-sdk/anthropic", wire: anthropic(), model: "claude-opus-4-6", ...at() },
  {
    name: "@ai-sdk/amazon-bedrock/anthropic",
    wire: { ...anthropic(true), error: (message) => ({ message }) },
    model: "anthropic.claude-opus-4-6-v1:0",
    ...at(""),
  },
  {
    name: "@ai-sdk/google-vertex/anthropic",
    wire: anthropic(),
    model: "claude-opus-4-6",
    ...ofVertex("/models"),
  },
  {
    name: "@ai-sdk/amazon-bedrock",
    wire: bedrock(),
    model: "anthropic.claude-opus-4-6-v1:0",
    ...at(""),
  },
  { name: "@ai-sdk/google", wire: google(), model: "gemini-3-pro", ...at("/v1beta") },
  {
    name: "@ai-sdk/google-vertex",
    wire: google(),
    model: "gemini-3-pro",
    ...ofVertex("/publishers/google"),
  },
  {
    name: "@ai-sdk/groq",
    wire: completions({
      thoughts: "reasoning",
      counts: (usage) => ({ x_groq: { id: "g", usage } }),
    }),
    model: "openai/gpt-oss-120b",
    ...at(),
  },
  {
    name: "@ai-sdk/mistral",
    wire: completions({
      content: mistralThinks,
      endings: { model_length: "length", error: "upstream_failed" },
      error: (message, status) => ({
        ...{ object: "error", message, type: "invalid_request_error", param: null },
        code: String(status),
      }),
    }),
    model: "magistral-medium-latest",
    ...at(),
  },
  {
    name: "@ai-sdk/deepseek",
    wire: completions({
      usage: deepseekUsage,
      endings: { insufficient_system_resource: "upstream_failed" },
    }),
    model: "deepseek-v4-pro",
    ...at(""),
  },
  { name: "@ai-sdk/moonshotai", wire: completions(), model: "kimi-k3", ...at() },
  {
    name: "@ai-sdk/alibaba",
    wire: completions({ askedForUsage: true }),
    model: "qwen3-max",
    ...at(),
  },
  { name: "@ai-sdk/cohere", wire: cohere(), model: "command-a-reasoning-08-2025", ...at("/v2") },
  {
    name: "@ai-sdk/perplexity",
    wire: completions({ untold: ["thoughts", "calls", "content_filter"] }),
    model: "sonar-reasoning-pro",
    ...at(""),
  },
  {
    name: "@ai-sdk/huggingface",
    // Hugging Face tells of nothing but an end.
    wire: { ...responses({ open: true }), untold: ["length", "content_filter"] },
    // Before AI SDK 7 its provider says no more than that there was no end.
    ...since7({ broken: "upstream_failed" }, {}),
    model: "openai/gpt-oss-120b",
    ...at(),
  },
];

/** A backend before a server. */
export const backendOf = ({ name, model, options }: Package, url: string, more = {}): Backend =>
  aiSdkBackend({ package: name, options: options(url), models: [{ id: model }], ...more });
