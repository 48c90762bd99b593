/** Tiers of service before servers of OpenAI's form and providers of the AI SDK: what they are told, and tell. */
import { describe, expect, it } from "vitest";
import type { LLMResponse } from "../../gen/lintel/v1/chat_pb.js";
import { tierIn } from "../../src/backends/ai-sdk/untold.js";
import type { Backend } from "../../src/core/backend.js";
import { never } from "../support/calls.js";
import { asked } from "./ai-sdk-calls.js";
import { anthropicAt, echo as claude, compatibleAt, openaiAt } from "./ai-sdk-subject.js";
import {
  gemini,
  geminiWith,
  googleAt,
  message,
  responses,
  responsesWith,
} from "./ai-sdk-thoughts.js";
import { against, chat } from "./openai-calls.js";
import { chatRequest, chunk, echo } from "./openai-subject.js";
import { opened, serve } from "./serve.js";
import { callOf } from "./subject.js";
import type { Script, Upstream } from "./upstream.js";

const ignored = "service_tier: not supported by this model, ignored";

const lastBody = (server: Upstream) => JSON.parse(String(server.requests.at(-1)?.body));

const knows = (backend: Backend) => backend.models()[0]?.supports.includes("service_tier");

/** Which tier an answer tells in its last message, streamed and whole. */
async function told(backend: Backend, model = "m"): Promise<(string | undefined)[]> {
  const tiers: (string | undefined)[] = [];
  for (const method of ["chat", "complete"] as const) {
    const call = callOf(method, chatRequest({ model, serviceTier: "flex" }));
    const messages: LLMResponse[] = [];
    for await (const step of backend.handlers[method]?.(call as never) ?? []) {
      messages.push(...(step as readonly LLMResponse[]));
    }
    tiers.push(messages.at(-1)?.serviceTier);
  }
  return tiers;
}

describe("a server of OpenAI's form", () => {
  it.each(["auto", "openai", "openrouter", "xai", "deepinfra"])(
    "in the dialect %s is told the tier",
    async (dialect) => {
      const server = await against(echo, { dialect });
      expect(knows(server.backend)).toBe(true);
      for (const serviceTier of ["flex", "priority", "default", ""]) {
        expect([...(await chat(server, { serviceTier })).warnings]).toEqual([]);
        expect(server.bodies().at(-1).service_tier).toBe(serviceTier || undefined);
      }
    },
  );

  it.each(["vllm", "sglang", "llamacpp", "ollama", "lmstudio", "tgi", "together", "zai", "google"])(
    "in the dialect %s knows none",
    async (dialect) => {
      const server = await against(echo, { dialect });
      expect(knows(server.backend)).toBe(false);
      await chat(server, { serviceTier: "flex" });
      expect(server.bodies()[0]).not.toHaveProperty("service_tier");
    },
  );

  it("may have it, whatever OpenRouter's list says of a model's parameters", async () => {
    const list = { data: [{ id: "m", supported_parameters: ["temperature"] }] };
    const { backend } = await against((exchange) => exchange.sendJson(200, list), {
      ...{ dialect: "openrouter", models: undefined },
    });
    await backend.ready?.("m", never);
    expect(knows(backend)).toBe(true);
  });

  const refusing =
    (error: string | object, tiers: readonly string[]): Script =>
    (exchange) =>
      tiers.includes(exchange.json().service_tier)
        ? exchange.sendJson(400, { error })
        : echo(exchange);

  it.each([
    ["Codex' server", { message: "Unsupported service_tier: flex" }],
    ["OpenAI", { message: "Invalid service_tier argument", param: "service_tier" }],
    ["Groq", { message: "'service_tier' : value must be one of [auto, on_demand]" }],
  ])("that refuses one tier, as %s does, is asked for others", async (_, error) => {
    const server = await against(refusing(error, ["flex"]));
    for (const requests of [2, 4]) {
      const call = await chat(server, { serviceTier: "flex" });
      expect([...call.warnings]).toEqual([ignored]);
      expect(server.bodies()).toHaveLength(requests);
      expect(server.bodies().at(-1)).not.toHaveProperty("service_tier");
    }
    expect([...(await chat(server, { serviceTier: "priority" })).warnings]).toEqual([]);
    expect(server.bodies().at(-1).service_tier).toBe("priority");
  });

  it("that has no such field is asked for none any more, and of the ordinary tier nobody is told", async () => {
    const error = { message: "Unrecognized request argument supplied: service_tier" };
    const server = await against(refusing(error, ["default", "flex"]));
    expect([...(await chat(server, { serviceTier: "default" })).warnings]).toEqual([]);
    expect(server.bodies()).toHaveLength(2);
    expect(knows(server.backend)).toBe(false);
    await chat(server, { serviceTier: "flex" });
    expect(server.bodies()).toHaveLength(3);
  });

  it("tells which tier served an answer, by its last word", async () => {
    const tiered =
      (first?: string, last?: string): Script =>
      async (exchange) => {
        if (!exchange.json().stream) {
          const choices = [{ message: { content: "x" }, finish_reason: "stop" }];
          return exchange.sendJson(200, { id: "1", model: "m", choices, service_tier: last });
        }
        const chunks = [
          { ...chunk({ content: "x" }), service_tier: first },
          { ...chunk({ content: "y" }), service_tier: first },
          { ...chunk({}, "stop"), service_tier: last },
        ];
        await exchange.stream(...chunks, "data: [DONE]\n\n");
        await exchange.end();
      };
    expect(await told((await against(tiered("auto", "flex"))).backend)).toEqual(["flex", "flex"]);
    expect(await told((await against(tiered())).backend)).toEqual([undefined, undefined]);
    // Where it does not stream.
    const choices = [{ message: { content: "x" }, finish_reason: "stop" }];
    const whole = await against((exchange) =>
      exchange.sendJson(200, { id: "1", model: "m", choices, service_tier: "flex" }),
    );
    expect(await told(whole.backend)).toEqual(["flex", "flex"]);
  });
});

describe("a provider of the AI SDK", () => {
  it("is told the tier by its own options, and tells which one served", async () => {
    const server = await serve(responsesWith({ service_tier: "default" }, message("Hi")));
    const backend = opened(openaiAt(server.url, { models: [{ id: "gpt-5" }] }));
    expect(knows(backend)).toBe(true);
    const call = await asked(backend, "complete", { model: "gpt-5", serviceTier: "flex" });
    expect([call.code, call.warnings]).toEqual(["ok", []]);
    expect(lastBody(server)).toMatchObject({ service_tier: "flex" });
    expect(await told(backend, "gpt-5")).toEqual(["default", "default"]);
    await asked(backend, "complete", { model: "gpt-5" });
    expect(lastBody(server)).not.toHaveProperty("service_tier");
  });

  it("that leaves it out for a model says so", async () => {
    const server = await serve(responses(message("Hi")));
    const backend = opened(openaiAt(server.url, { models: [{ id: "gpt-4o" }] }));
    const { warnings } = await asked(backend, "complete", { model: "gpt-4o", serviceTier: "flex" });
    expect(warnings).toEqual([ignored]);
    expect(lastBody(server)).not.toHaveProperty("service_tier");
  });

  it("for Gemini has words of its own", async () => {
    const server = await serve(gemini({ text: "Hi" }));
    const backend = opened(googleAt(server.url));
    expect(knows(backend)).toBe(true);
    for (const [serviceTier, sent] of [
      ["priority", "priority"],
      ["default", "standard"],
    ]) {
      await asked(backend, "complete", { model: "gemini-3-pro", serviceTier });
      expect(lastBody(server)).toMatchObject({ serviceTier: sent });
    }
    const serving = await serve(
      geminiWith({ serviceTier: "SERVICE_TIER_STANDARD" }, { text: "Hi" }),
    );
    expect(await told(opened(googleAt(serving.url)), "gemini-3-pro")).toEqual([
      "standard",
      "standard",
    ]);
  });

  it.each([
    [{ service_tier: "flex" }, "flex"],
    [{ type: "response.completed", response: { service_tier: "priority" } }, "priority"],
    [{ usageMetadata: { serviceTier: "standard" } }, "standard"],
    // Bedrock's, whole and in the event behind the answer.
    [{ serviceTier: { type: "flex" } }, "flex"],
    [{ metadata: { usage: {}, serviceTier: { type: "flex" } } }, "flex"],
    [{ metadata: { a: "b" }, service_tier: null }, undefined],
    ["data", undefined],
  ])("tells it in whatever form its vendor has: %j", (raw, tier) => {
    expect(tierIn(raw)).toBe(tier);
  });

  it("for servers of OpenAI's form hands it on", async () => {
    const server = await serve(echo);
    const backend = opened(compatibleAt(server.url));
    expect(knows(backend)).toBe(true);
    await asked(backend, "complete", { serviceTier: "flex" });
    expect(lastBody(server)).toMatchObject({ service_tier: "flex" });
  });

  it("that has none is not asked", async () => {
    const server = await serve(claude);
    const backend = opened(anthropicAt(server.url));
    expect(knows(backend)).toBe(false);
    const { warnings } = await asked(backend, "complete", { serviceTier: "flex" });
    expect(warnings).toEqual([ignored]);
  });
});
