/** Fields that a provider leaves out by itself, which it says in warnings. */
import { describe, expect, it } from "vitest";
import { modalityOf } from "../../src/core/model.js";
import type { ModelSettings } from "../../src/core/settings.js";
import { outcome } from "../support/calls.js";
import { coreOf } from "../support/core.js";
import { aiSdkBackend } from "./ai-sdk-subject.js";
import { message } from "./ai-sdk-thoughts.js";
import { fixture } from "./fixture.js";
import { opened, serve } from "./serve.js";
import type { Script } from "./upstream.js";

it("tells what a model takes and gives where its package knows that it draws", () => {
  const backend = opened(
    aiSdkBackend({
      package: "@ai-sdk/google",
      options: { apiKey: "secret" },
      models: [{ id: "gemini-2.5-flash-image" }, { id: "gemini-2.5-flash" }],
    }),
  );
  expect(backend.models().map(modalityOf)).toEqual([
    "text+image+file+audio->text+image",
    undefined,
  ]);
});

describe("OpenAI's Responses API, for which its provider leaves fields out", () => {
  const usage = { input_tokens: 3, output_tokens: 4 };
  const output = [message("Hello. There")];
  const whole = { id: "resp_1", created_at: 1, model: "m", output, usage };
  const responses: Script = (exchange) =>
    exchange.json().stream
      ? exchange.play(fixture("openai/responses-stream"))
      : exchange.sendJson(200, whole);
  const asked = { model: "gpt-4o-mini", messages: [{ role: "user", content: "hello" }] };
  const coreOn = (url: string, models: readonly ModelSettings[] = []) => {
    const backend = opened(
      aiSdkBackend({
        package: "@ai-sdk/openai",
        options: { apiKey: "sk-secret", baseURL: `${url}/v1` },
        models: [{ id: "gpt-4o-mini" }],
      }),
    );
    const ask = (method: "chat" | "complete", more: object) =>
      outcome(coreOf([backend], { models }), method, { ...asked, ...more });
    return { ask, supports: () => backend.models()[0]?.supports };
  };

  it.each(["chat", "complete"] as const)(
    "refuses %s with stop, and then asks no more",
    async (method) => {
      const server = await serve(responses);
      const { ask, supports } = coreOn(server.url);
      for (const time of ["first", "second"]) {
        const { code, error, messages } = await ask(method, { stop: ["."] });
        expect(code, time).toBe("unsupported_parameter");
        expect(error?.param).toBe("stop");
        expect(messages).toEqual([]);
      }
      expect(server.requests).toHaveLength(1);
      expect(supports()).not.toContain("stop");
    },
  );

  it("does without where the operator says so", async () => {
    const server = await serve(responses);
    const models = [{ name: "gpt-4o-mini", unsupported: "ignore" } as const];
    const { ask } = coreOn(server.url, models);
    for (const time of ["first", "second"]) {
      const { code, warnings } = await ask("chat", { stop: ["."] });
      expect(code, time).toBe("ok");
      expect(warnings, time).toEqual(["stop: not supported by this model, ignored"]);
    }
  });

  it("lists those that only tune no more", async () => {
    const server = await serve(responses);
    const { ask, supports } = coreOn(server.url);
    for (const time of ["first", "second"]) {
      expect((await ask("chat", { topK: 4, seed: 7n })).warnings.toSorted(), time).toEqual([
        "seed: not supported by this model, ignored",
        "top_k: not supported by this model, ignored",
      ]);
    }
    expect(supports()).toEqual([
      ...["temperature", "max_tokens", "top_p", "stop"],
      ...["tools", "tool_choice", "response_format", "image_url"],
      ...["verbosity", "service_tier", "parallel_tool_calls", "file", "reasoning_effort"],
      ...["logprobs", "top_logprobs"],
    ]);
  });
});
