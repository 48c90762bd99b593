/** How much is to be thought, as packages are told. */
import type { LanguageModelV3 } from "@ai-sdk/provider";
import { describe, expect, it } from "vitest";
import { optionsOf } from "../../src/backends/ai-sdk/request.js";
import { never } from "../support/calls.js";
import { aiSdkBackend } from "./ai-sdk-subject.js";
import { chatRequest } from "./openai-subject.js";
import { opened } from "./serve.js";
import { callOf } from "./subject.js";

/** What a package's provider is told, by its interface v3, or v4 that has a word for it. */
async function told(name: string, modelId: string, effort: string, more: object = {}) {
  const {
    version = "v3",
    options = {},
    ...request
  } = more as { version?: string; options?: object };
  const model = { specificationVersion: version, modelId, supportedUrls: {} };
  const call = callOf(
    "chat",
    chatRequest({ reasoningEffort: effort, maxTokens: 10_000, ...request }),
  );
  const configured = {
    model: model as unknown as LanguageModelV3,
    package: name,
    providerOptions: options as Record<string, Record<string, unknown>>,
  };
  const asked = await optionsOf(call, configured, new Set(), never);
  const { providerOptions, maxOutputTokens } = asked;
  const { reasoning } = asked as { reasoning?: string };
  return { providerOptions, maxOutputTokens, reasoning, warnings: [...call.warnings] };
}

describe("a package is told", () => {
  const shown = { display: "summarized" };
  it.each([
    ["@ai-sdk/openai-compatible", "m", "max", "openaiCompatible", { reasoningEffort: "max" }],
    ["@ai-sdk/deepinfra", "m", "none", "openaiCompatible", { reasoningEffort: "none" }],
    ["@ai-sdk/google-vertex/maas", "m", "low", "openaiCompatible", { reasoningEffort: "low" }],
    [
      ...["@ai-sdk/openai", "o3", "low", "openai"],
      { reasoningEffort: "low", reasoningSummary: "auto", store: false },
    ],
    ["@ai-sdk/openai", "gpt-6-sol", "none", "openai", { reasoningEffort: "none", store: false }],
    ["@ai-sdk/openai", "gpt-6", "none", "openai", { reasoningEffort: "low", store: false }],
    [
      "@ai-sdk/openai",
      "gpt-5-mini",
      "none",
      "openai",
      { reasoningEffort: "minimal", store: false },
    ],
    [
      ...["@ai-sdk/openai", "o4-mini", "max", "openai"],
      { reasoningEffort: "high", reasoningSummary: "auto", store: false },
    ],
    [
      ...["@ai-sdk/openai", "gpt-5.1-codex-max", "max", "openai"],
      { reasoningEffort: "xhigh", reasoningSummary: "auto", store: false },
    ],
    [
      ...["@ai-sdk/openai", "gpt-5.2-2025-12-11", "minimal", "openai"],
      { reasoningEffort: "low", reasoningSummary: "auto", store: false },
    ],
    [
      ...["@ai-sdk/openai", "gpt-5.6", "max", "openai"],
      { reasoningEffort: "max", reasoningSummary: "auto", store: false },
    ],
    [
      ...["@ai-sdk/azure", "m", "minimal", "azure"],
      { reasoningEffort: "minimal", reasoningSummary: "auto", store: false },
    ],
    ["@ai-sdk/xai", "grok-5", "minimal", "xai", { reasoningEffort: "low", store: false }],
    ["@ai-sdk/xai", "grok-5", "max", "xai", { reasoningEffort: "xhigh", store: false }],
    ["@ai-sdk/groq", "openai/gpt-oss-20b", "none", "groq", { reasoningEffort: "low" }],
    ["@ai-sdk/groq", "openai/gpt-oss-20b", "max", "groq", { reasoningEffort: "high" }],
    [
      ...["@ai-sdk/groq", "qwen/qwen3-32b", "low", "groq"],
      { reasoningEffort: "default", reasoningFormat: "parsed" },
    ],
    ["@ai-sdk/groq", "qwen/qwen3-32b", "none", "groq", { reasoningEffort: "none" }],
    ["@ai-sdk/mistral", "m", "low", "mistral", { reasoningEffort: "high" }],
    ["@ai-sdk/mistral", "m", "none", "mistral", { reasoningEffort: "none" }],
    ["@ai-sdk/cohere", "m", "low", "cohere", { thinking: { type: "enabled" } }],
    ["@ai-sdk/alibaba", "qwen3-max", "none", "alibaba", { enableThinking: false }],
    [
      ...["@ai-sdk/deepseek", "m", "minimal", "deepseek"],
      { thinking: { type: "enabled" }, reasoningEffort: "low" },
    ],
    ["@ai-sdk/deepseek", "m", "none", "deepseek", { thinking: { type: "disabled" } }],
    ["@ai-sdk/moonshotai", "kimi-k3", "xhigh", "moonshotai", { reasoningEffort: "high" }],
    ["@ai-sdk/moonshotai", "kimi-k2.6", "low", "moonshotai", { thinking: { type: "enabled" } }],
    ["@ai-sdk/perplexity", "sonar", "none", "perplexity", { reasoning_effort: "minimal" }],
    [
      ...["@ai-sdk/google", "gemini-3-pro", "minimal", "google"],
      { thinkingConfig: { thinkingLevel: "low", includeThoughts: true } },
    ],
    [
      ...["@ai-sdk/google", "gemini-3-flash", "none", "google"],
      { thinkingConfig: { thinkingLevel: "minimal" } },
    ],
    [
      ...["@ai-sdk/google-vertex", "gemini-2.5-flash", "medium", "vertex"],
      { thinkingConfig: { thinkingBudget: 5000, includeThoughts: true } },
    ],
    [
      ...["@ai-sdk/google-vertex/edge", "gemini-2.5-pro", "none", "google"],
      { thinkingConfig: { thinkingBudget: 128 } },
    ],
    [
      ...["@ai-sdk/google", "gemini-2.5-flash", "none", "google"],
      { thinkingConfig: { thinkingBudget: 0 } },
    ],
    [
      ...["@ai-sdk/anthropic", "claude-opus-4-7", "xhigh", "anthropic"],
      { thinking: { type: "adaptive", ...shown }, effort: "xhigh" },
    ],
    [
      ...["@ai-sdk/google-vertex/anthropic", "claude-sonnet-4-6@20260101", "xhigh", "anthropic"],
      { thinking: { type: "adaptive", ...shown }, effort: "high" },
    ],
    [
      ...["@ai-sdk/anthropic", "claude-sonnet-5", "none", "anthropic"],
      { thinking: { type: "disabled" } },
    ],
    ["@ai-sdk/anthropic", "claude-opus-5-5", "none", "anthropic", { effort: "low" }],
    [
      ...["@ai-sdk/amazon-bedrock", "us.anthropic.claude-opus-4-6-v1:0", "minimal", "bedrock"],
      { reasoningConfig: { type: "adaptive", ...shown, maxReasoningEffort: "low" } },
    ],
    [
      ...["@ai-sdk/amazon-bedrock", "anthropic.claude-fable-5-v1:0", "none", "amazonBedrock"],
      { reasoningConfig: { maxReasoningEffort: "low" } },
    ],
    [
      ...["@ai-sdk/amazon-bedrock", "openai.gpt-oss-120b-1:0", "max", "bedrock"],
      { reasoningConfig: { maxReasoningEffort: "high" } },
    ],
    [
      ...["@ai-sdk/amazon-bedrock", "us.amazon.nova-2-lite-v1:0", "low", "bedrock"],
      { reasoningConfig: { type: "enabled", maxReasoningEffort: "low" } },
    ],
  ] as [string, string, string, string, object][])(
    "%s, of %s: %s",
    async (name, model, effort, key, expected) => {
      const { providerOptions, maxOutputTokens, reasoning, warnings } = await told(
        ...[name, model, effort],
      );
      expect(providerOptions?.[key]).toEqual(expected);
      expect([maxOutputTokens, reasoning, warnings]).toEqual([10_000, undefined, []]);
    },
  );

  it.each([
    ["@ai-sdk/anthropic", "claude-haiku-4-5", "anthropic", "thinking"],
    ["@ai-sdk/anthropic", "claude-3-7-sonnet-20250219", "anthropic", "thinking"],
    ["@ai-sdk/anthropic", "claude-opus-4-20250514", "anthropic", "thinking"],
    ["@ai-sdk/anthropic", "MiniMax-M2", "anthropic", "thinking"],
    ["@ai-sdk/amazon-bedrock", "eu.anthropic.claude-sonnet-4-5-v1:0", "bedrock", "reasoningConfig"],
  ])("%s a budget within the limit, of %s", async (name, model, key, option) => {
    for (const [effort, maxTokens, budgetTokens] of [
      ["low", 10_000, 2000],
      ["max", 10_000, 8976],
      ["minimal", 4000, 1024],
    ] as const) {
      const { providerOptions, maxOutputTokens, warnings } = await told(name, model, effort, {
        maxTokens,
      });
      expect(providerOptions?.[key], effort).toEqual({
        [option]: { type: "enabled", budgetTokens },
      });
      expect([maxOutputTokens, warnings]).toEqual([maxTokens - budgetTokens, []]);
    }
    const { maxOutputTokens, warnings } = await told(name, model, "high", { maxTokens: 256 });
    expect(maxOutputTokens).toBe(256);
    expect(warnings).toEqual([
      "reasoning_effort: thoughts come on top of max_tokens, since this model has at least 1024 tokens for them",
    ]);
  });

  it.each([
    ["@ai-sdk/anthropic", "claude-3-5-haiku-20241022"],
    ["@ai-sdk/amazon-bedrock", "meta.llama4-scout-17b-instruct-v1:0"],
    ["@ai-sdk/google", "gemini-2.0-flash"],
  ])("%s nothing where a model does not think: %s", async (name, model) => {
    const none = await told(name, model, "none");
    expect([none.providerOptions, none.warnings]).toEqual([{}, []]);
    const high = await told(name, model, "high");
    expect([high.providerOptions, high.warnings]).toEqual([
      {},
      ["reasoning_effort: not supported by this model, ignored"],
    ]);
  });

  it("by the common interface where that has a word for it, and what that has none for", async () => {
    const v4 = { version: "v4" };
    for (const [name, model, options] of [
      ["some-provider", "m", {}],
      ["@ai-sdk/groq", "openai/gpt-oss-20b", {}],
      ["@ai-sdk/google", "gemini-3-pro", { google: { thinkingConfig: { includeThoughts: true } } }],
      [
        "@ai-sdk/anthropic",
        "claude-opus-4-7",
        { anthropic: { thinking: { type: "adaptive", ...shown } } },
      ],
      [
        ...(["@ai-sdk/anthropic", "claude-haiku-4-5"] as const),
        { anthropic: { thinking: { type: "enabled", budgetTokens: 5000 } } },
      ],
    ] as const) {
      const { providerOptions, reasoning } = await told(name, model, "medium", v4);
      expect([providerOptions, reasoning], name).toEqual([options, "medium"]);
    }
    for (const [name, model, options] of [
      ["openai", "o3", { store: false, reasoningEffort: "medium", reasoningSummary: "auto" }],
      ["perplexity", "sonar", { reasoning_effort: "medium" }],
      ["huggingface", "m", { reasoningEffort: "medium" }],
    ] as const) {
      const { providerOptions, reasoning } = await told(`@ai-sdk/${name}`, model, "medium", v4);
      expect([providerOptions, reasoning], name).toEqual([{ [name]: options }, undefined]);
    }
    const unseen = await told("@ai-sdk/openai", "o3", "low", { ...v4, includeReasoning: false });
    expect(unseen.providerOptions?.openai).toMatchObject({ reasoningSummary: null });
    const none = await told("@ai-sdk/anthropic", "claude-opus-4-7", "none", v4);
    expect([none.providerOptions, none.reasoning]).toEqual([{}, "none"]);
    const { reasoning, warnings } = await told("@ai-sdk/google", "gemini-2.0-flash", "low", v4);
    expect([reasoning, warnings.length]).toEqual([undefined, 1]);
    expect((await told("some-provider", "m", "medium")).providerOptions).toEqual({});
  });

  it("what is not to be seen", async () => {
    const unseen = { includeReasoning: false };
    for (const [name, model, key, options] of [
      ["@ai-sdk/openai", "o3", "openai", { reasoningEffort: "low", store: false }],
      ["@ai-sdk/google", "gemini-3-pro", "google", { thinkingConfig: { thinkingLevel: "low" } }],
      [
        ...(["@ai-sdk/anthropic", "claude-opus-4-7", "anthropic"] as const),
        { thinking: { type: "adaptive", display: "omitted" }, effort: "low" },
      ],
    ] as const) {
      const { providerOptions } = await told(name, model, "low", unseen);
      expect(providerOptions?.[key], name).toEqual(options);
    }
  });

  it("what the operator says, which is above it", async () => {
    const anthropic = { thinking: { type: "enabled", budgetTokens: 2000 } };
    const own = await told("@ai-sdk/anthropic", "claude-haiku-4-5", "low", {
      options: { anthropic },
    });
    expect([own.providerOptions, own.maxOutputTokens]).toEqual([{ anthropic }, 10_000]);
    const google = { thinkingConfig: { includeThoughts: false } };
    const { providerOptions } = await told("@ai-sdk/google", "gemini-3-pro", "low", {
      options: { google },
    });
    expect(providerOptions).toEqual({
      google: { thinkingConfig: { thinkingLevel: "low", includeThoughts: false } },
    });
  });
});

describe("a model", () => {
  const supports = (config: object) => {
    const models = [{ id: "m" }];
    return opened(aiSdkBackend({ models, ...config })).models()[0]?.supports;
  };

  it("supports reasoning_effort where its package is known, and the operator has not said it", () => {
    expect(supports({ package: "@ai-sdk/groq" })).toContain("reasoning_effort");
    expect(supports({ package: "some-provider" })).not.toContain("reasoning_effort");
    for (const said of [
      { reasoningEffort: "low" },
      { thinking: { type: "disabled" } },
      { thinkingConfig: { thinkingBudget: 0 } },
    ]) {
      const config = { package: "@ai-sdk/groq", provider_options: { any: said } };
      expect(supports(config), JSON.stringify(said)).not.toContain("reasoning_effort");
    }
    const shown = { google: { thinkingConfig: { includeThoughts: true } } };
    expect(supports({ package: "@ai-sdk/google", provider_options: shown })).toContain(
      "reasoning_effort",
    );
  });
});
