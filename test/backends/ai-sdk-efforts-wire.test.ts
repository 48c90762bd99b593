/** How much is to be thought, in the bytes that vendors get. */
import { ReadableStream } from "node:stream/web";
import { describe, expect, it } from "vitest";
import { chat } from "../../src/backends/ai-sdk/chat.js";
import { optionsOf } from "../../src/backends/ai-sdk/request.js";
import type { ModelSettings } from "../../src/core/settings.js";
import { never } from "../support/calls.js";
import { say } from "../support/messages.js";
import { asked, bodies, weatherTools } from "./ai-sdk-calls.js";
import { anthropicAt, compatibleAt, openaiAt } from "./ai-sdk-subject.js";
import { claude, compatible, gemini, googleAt, message, responses } from "./ai-sdk-thoughts.js";
import { chatRequest } from "./openai-subject.js";
import { opened, serve } from "./serve.js";
import { callOf } from "./subject.js";
import type { Script } from "./upstream.js";

describe("the bytes that a vendor gets", () => {
  const rain = { type: "text", text: "Rain." };

  it("of Anthropic's: a budget and all of the answer are within the limit", async () => {
    const server = await serve(claude(rain));
    const backend = opened(anthropicAt(server.url, { models: [{ id: "claude-haiku-4-5" }] }));
    const request = { model: "claude-haiku-4-5", reasoningEffort: "medium", maxTokens: 4096 };
    const { code, warnings } = await asked(backend, "complete", request);
    expect([code, warnings]).toEqual(["ok", []]);
    expect(bodies(server)[0]).toMatchObject({
      ...{ max_tokens: 4096, thinking: { type: "enabled", budget_tokens: 2048 } },
    });
    expect(bodies(server)[0].temperature).toBeUndefined();
  });

  it("of Anthropic's: newer models see for themselves", async () => {
    const server = await serve(claude(rain));
    const backend = opened(anthropicAt(server.url, { models: [{ id: "claude-opus-4-8" }] }));
    await asked(backend, "chat", { model: "claude-opus-4-8", reasoningEffort: "minimal" });
    expect(bodies(server)[0]).toMatchObject({
      ...{ max_tokens: 256, thinking: { type: "adaptive", display: "summarized" } },
      output_config: { effort: "low" },
    });
  });

  it("of Google's, OpenAI's, and a server's of OpenAI's form", async () => {
    const google = await serve(gemini({ text: "Rain." }));
    const effort = { reasoningEffort: "medium" };
    await asked(opened(googleAt(google.url)), "chat", { model: "gemini-3-pro", ...effort });
    expect(bodies(google)[0].generationConfig.thinkingConfig).toEqual({
      ...{ thinkingLevel: "medium", includeThoughts: true },
    });
    const openai = await serve(responses(message("a")));
    const backend = opened(openaiAt(openai.url, { models: [{ id: "gpt-5" }] }));
    await asked(backend, "chat", { model: "gpt-5", ...effort });
    expect(bodies(openai)[0].reasoning).toEqual({ effort: "medium", summary: "auto" });
    const server = await serve(compatible({ content: "Rain." }));
    await asked(opened(compatibleAt(server.url)), "chat", effort);
    expect(bodies(server)[0].reasoning_effort).toBe("medium");
  });
});

describe("a Claude that thinks with a budget", () => {
  const thinking = async (request: object, id = "claude-haiku-4-5") => {
    const server = await serve(claude({ type: "text", text: "Rain." }));
    const backend = opened(anthropicAt(server.url, { models: [{ id }] }));
    const effort = { model: id, reasoningEffort: "low", maxTokens: 5000 };
    const { code, warnings } = await asked(backend, "complete", { ...effort, ...request });
    expect(code).toBe("ok");
    return { type: bodies(server)[0].thinking.type, warnings };
  };
  const schema = { name: "a", schema: '{"type":"object","properties":{}}' };
  const formed = { responseFormat: { type: "json_schema", jsonSchema: schema } };
  const call = { id: "a1", function: { name: "get_time", arguments: "{}" } };
  const conversation = (more: object) => [
    { role: "user", content: "What time is it?" },
    { role: "assistant", toolCalls: [call], ...more },
    { role: "tool", toolCallId: "a1", content: "noon" },
  ];
  const signed = JSON.stringify([
    { type: "reasoning.text", text: "Hm.", signature: "s", index: 0 },
  ]);
  const tools = [weatherTools[1]];

  it("does not where a tool has to be called, or stands for a form", async () => {
    const forced = { tools, toolChoice: { type: "required" } };
    expect(await thinking(forced)).toEqual({
      type: "disabled",
      warnings: ["reasoning_effort: not supported beside a forced tool_choice, ignored"],
    });
    const before = "claude-sonnet-4-20250514";
    expect(await thinking(formed, before)).toEqual({
      type: "disabled",
      warnings: ["reasoning_effort: not supported beside this response_format, ignored"],
    });
    expect(await thinking(formed)).toEqual({ type: "enabled", warnings: [] });
  });

  it("goes on with what it thought, and not where that is lost", async () => {
    const going = { tools, messages: conversation({ reasoningDetails: signed }) };
    expect(await thinking(going)).toEqual({ type: "enabled", warnings: [] });
    expect(await thinking({ tools, messages: conversation({}) })).toEqual({
      type: "disabled",
      warnings: [
        "reasoning_effort: not supported without the reasoning_details of the answer that goes on, ignored",
      ],
    });
  });

  it("has no temperature of the caller's meanwhile, and has it again afterwards", async () => {
    const server = await serve(claude({ type: "text", text: "Rain." }));
    const backend = opened(anthropicAt(server.url, { models: [{ id: "claude-haiku-4-5" }] }));
    const request = { model: "claude-haiku-4-5", temperature: 0.2, topK: 4 };
    const effort = { reasoningEffort: "low", maxTokens: 5000 };
    const { warnings } = await asked(backend, "complete", { ...request, ...effort });
    expect(warnings).toEqual([
      "temperature: not supported while this model thinks, ignored",
      "top_k: not supported while this model thinks, ignored",
    ]);
    expect((await asked(backend, "complete", request)).warnings).toEqual([]);
    expect(bodies(server)[1]).toMatchObject({ temperature: 0.2, top_k: 4 });
  });
});

describe("an effort that is refused", () => {
  const refusing =
    (has: (body: never) => unknown, error: object, otherwise: Script): Script =>
    (exchange) =>
      has(exchange.json() as never) ? exchange.sendJson(400, { error }) : otherwise(exchange);
  const lost = ["reasoning_effort: not supported by this model, ignored"];

  it("is left out, and told to who chose it: a server of OpenAI's form", async () => {
    const message = "reasoning_effort is not supported with this model";
    const script = refusing(
      (body: { reasoning_effort?: string }) => body.reasoning_effort,
      { message, type: "invalid_request_error" },
      compatible({ content: "Rain." }),
    );
    const server = await serve(script);
    const backend = opened(compatibleAt(server.url));
    for (const requests of [2, 3]) {
      expect((await asked(backend, "chat", { reasoningEffort: "low" })).warnings).toEqual(lost);
      expect(server.requests).toHaveLength(requests);
    }
    expect(backend.models()[0]?.supports).not.toContain("reasoning_effort");
    const models: ModelSettings[] = [{ name: "m", reasoningEffort: "low" }];
    expect((await asked(opened(compatibleAt(server.url)), "chat", {}, models)).warnings).toEqual(
      [],
    );
  });

  it.each([
    ["adaptive thinking is not supported on this model", "claude-opus-4-8"],
    ["This model does not support the effort parameter.", "claude-opus-4-8"],
    ["output_config.effort: Extra inputs are not permitted", "claude-opus-4-8"],
  ])("is left out: Anthropic, %s", async (message, id) => {
    const script = refusing(
      (body: { thinking?: object }) => body.thinking,
      { type: "invalid_request_error", message },
      claude({ type: "text", text: "Rain." }),
    );
    const backend = opened(anthropicAt((await serve(script)).url, { models: [{ id }] }));
    const result = await asked(backend, "complete", { model: id, reasoningEffort: "low" });
    expect([result.code, result.warnings]).toEqual(["ok", lost]);
  });

  it.each([
    "Thinking level is not supported for this model.",
    `Invalid JSON payload received. Unknown name "thinkingLevel" at 'generation_config.thinking_config': Cannot find field.`,
  ])("is left out: Google, %s", async (message) => {
    const script = refusing(
      (body: { generationConfig: { thinkingConfig?: object } }) =>
        body.generationConfig.thinkingConfig,
      { code: 400, message, status: "INVALID_ARGUMENT" },
      gemini({ text: "Rain." }),
    );
    const backend = opened(googleAt((await serve(script)).url));
    const request = { model: "gemini-3-pro", reasoningEffort: "low" };
    const { code, warnings } = await asked(backend, "complete", request);
    expect([code, warnings]).toEqual(["ok", lost]);
  });

  it("counts for one value where another may do: OpenAI", async () => {
    const error = {
      message:
        "Unsupported value: 'minimal' is not supported with the 'gpt-5-pro' model. Supported values are: 'high'.",
      ...{ type: "invalid_request_error", param: "reasoning.effort", code: "unsupported_value" },
    };
    const script = refusing(
      (body: { reasoning?: { effort?: string } }) => body.reasoning?.effort === "minimal",
      error,
      responses(message("Rain.")),
    );
    const server = await serve(script);
    const backend = opened(openaiAt(server.url, { models: [{ id: "gpt-5-pro" }] }));
    const { warnings } = await asked(backend, "complete", {
      model: "gpt-5-pro",
      reasoningEffort: "minimal",
    });
    expect(warnings).toEqual(lost);
    expect(
      (await asked(backend, "complete", { model: "gpt-5-pro", reasoningEffort: "high" })).warnings,
    ).toEqual([]);
    expect(bodies(server).map(({ reasoning }) => reasoning?.effort)).toEqual([
      ...["minimal", undefined, "high"],
    ]);
  });

  it("is none where only summaries are refused: OpenAI to accounts that are not verified", async () => {
    const error = {
      message:
        "Your organization must be verified to generate reasoning summaries. Please go to: https://platform.openai.com/settings/organization/general and click on Verify Organization.",
      ...{ type: "invalid_request_error", param: "reasoning.summary", code: "unsupported_value" },
    };
    const script = refusing(
      (body: { reasoning?: { summary?: string } }) => body.reasoning?.summary,
      error,
      responses(message("Rain.")),
    );
    const server = await serve(script);
    const backend = opened(openaiAt(server.url, { models: [{ id: "gpt-5" }] }));
    for (const method of ["chat", "complete"] as const) {
      const result = await asked(backend, method, { model: "gpt-5", reasoningEffort: "low" });
      expect([result.code, result.warnings]).toEqual(["ok", []]);
    }
    expect(bodies(server).map(({ reasoning }) => reasoning)).toEqual([
      { effort: "low", summary: "auto" },
      { effort: "low" },
      { effort: "low" },
    ]);
  });
});

describe("an effort that a provider leaves out by itself", () => {
  it("is told once, and then not asked for: OpenAI's models that don't think", async () => {
    const server = await serve(responses(message("Rain.")));
    const backend = opened(openaiAt(server.url, { models: [{ id: "gpt-4o" }] }));
    const request = { model: "gpt-4o", reasoningEffort: "low" };
    for (const time of ["first", "second"]) {
      expect((await asked(backend, "chat", request)).warnings, time).toEqual([
        "reasoning_effort: not supported by this model, ignored",
      ]);
    }
    expect(backend.models()[0]?.supports).not.toContain("reasoning_effort");
    const none = opened(openaiAt(server.url, { models: [{ id: "gpt-4o" }] }));
    const off = { ...request, reasoningEffort: "none" };
    expect((await asked(none, "chat", off)).warnings).toEqual([]);
    const operators = opened(openaiAt(server.url, { models: [{ id: "gpt-4o" }] }));
    const settings = [{ name: "gpt-4o", reasoningEffort: "low" }];
    expect((await asked(operators, "chat", { model: "gpt-4o" }, settings)).warnings).toEqual([]);
  });

  it("is asked for again where another may do", async () => {
    const learned: string[] = [];
    const warnings = [
      {
        ...{ type: "unsupported", feature: "reasoning" },
        details: 'reasoning "max" is not supported by this model.',
      },
    ];
    const finish = { type: "finish", finishReason: { unified: "stop", raw: "stop" } };
    const usage = { inputTokens: {}, outputTokens: {} };
    const parts = [
      { type: "stream-start", warnings },
      { ...finish, usage },
    ];
    const model = {
      ...{ specificationVersion: "v4", modelId: "m", supportedUrls: {} },
      doStream: async () => ({ stream: ReadableStream.from(parts) }),
    };
    const known = {
      ...{ model: model as never, package: "some-provider", providerOptions: {} },
      ...{ refused: new Set<string>(), learn: (field: string) => void learned.push(field) },
    };
    const call = callOf("chat", chatRequest({ reasoningEffort: "max" }));
    for await (const _ of chat(known, call, never));
    expect([[...call.warnings], learned]).toEqual([
      ["reasoning_effort: not supported by this model, ignored"],
      [],
    ]);
  });

  it("is told where thinking can't be switched off, and goes on being supported: Claude Sonnet 5.5", async () => {
    const server = await serve(claude({ type: "text", text: "Rain." }));
    const models = [{ id: "claude-sonnet-5-5" }];
    const backend = opened(anthropicAt(server.url, { models }));
    const request = { model: "claude-sonnet-5-5", reasoningEffort: "none" };
    const { warnings } = await asked(backend, "chat", request);
    expect(warnings).toEqual([
      expect.stringMatching(
        /^reasoning_effort: .*thinking cannot be disabled.* Using 'between_tools' thinking, the lowest thinking setting, instead\.$/,
      ),
    ]);
    expect(backend.models()[0]?.supports).toContain("reasoning_effort");
  });
});

it("a message without thoughts is handed on as it was, with store: false for OpenAI's alone", async () => {
  const call = callOf("chat", chatRequest({ messages: [say("user", "a"), say("assistant", "b")] }));
  const model = { specificationVersion: "v3", modelId: "m", supportedUrls: {} };
  const at = async (name: string) => {
    const known = { model: model as never, package: name, providerOptions: {} };
    const { prompt, providerOptions } = await optionsOf(call, known, new Set(), never);
    expect(prompt[1]).toEqual({ role: "assistant", content: [{ type: "text", text: "b" }] });
    return providerOptions;
  };
  expect(await at("@ai-sdk/openai")).toEqual({ openai: { store: false } });
  expect(await at("@ai-sdk/anthropic")).toEqual({});
});
