/** How likely tokens were: servers that refuse to tell, or are asked in another way. */
import { describe, expect, it, test } from "vitest";
import type { Model } from "../../gen/lintel/v1/models_pb.js";
import type { Backend } from "../../src/core/backend.js";
import { outcome } from "../support/calls.js";
import { coreOf } from "../support/core.js";
import { hello } from "../support/routing.js";
import { textsOf } from "../support/tokens.js";
import { bodies } from "./ai-sdk-calls.js";
import { compatibleKinds } from "./ai-sdk-subject.js";
import { ask, content, hi, tells } from "./logprobs-server.js";
import { backendFor } from "./openai-subject.js";
import { opened, serve } from "./serve.js";
import type { Script } from "./upstream.js";

describe.each(compatibleKinds)("a server of OpenAI's form, by %s,", (_kind, backendAt) => {
  const supports = (backend: Backend) => (backend.models()[0] as Model).supports;

  it.each([
    ["Groq", 400, "`logprobs` is not supported with this model"],
    ["OpenAI", 400, "Unsupported parameter: 'logprobs' is not supported with this model."],
    ["OpenAI, with another status", 403, "You are not allowed to request logprobs from this model"],
    ["Google", 400, "Logprobs is not enabled for models/gemini-2.5-pro"],
    [
      "vLLM on Gaudi",
      400,
      "Gaudi doesn't support logprobs. Please remove 'logprobs'/'top_logprobs' from your request to receive a response.",
    ],
    ["DeepSeek", 400, "deepseek-reasoner does not support the parameter `logprobs`"],
  ])(
    "that refuses it (%s) does so once, and is left out where the operator says so",
    async (_, status, message) => {
      const refusing: Script = (exchange) =>
        "logprobs" in exchange.json()
          ? exchange.sendJson(status, { error: { message, type: "invalid_request_error" } })
          : tells([["Hi", null]], null)(exchange);
      const server = await serve(refusing);
      const backend = opened(backendAt(server.url));
      const { code, error } = await ask(backend, "chat");
      expect([code, error?.param]).toEqual(["unsupported_parameter", "logprobs"]);
      expect(supports(backend)).not.toContain("logprobs");
      expect((await ask(backend, "chat")).code).toBe("unsupported_parameter");
      expect(server.requests).toHaveLength(1);
      const other = opened(backendAt(server.url));
      const core = coreOf([other], { models: [{ name: "m", unsupported: "ignore" }] });
      for (const time of ["first", "second"]) {
        const { code, warnings } = await outcome(core, "chat", {
          ...hello,
          model: "m",
          logprobs: true,
        });
        expect([code, warnings], time).toEqual([
          "ok",
          ["logprobs: not supported by this model, ignored"],
        ]);
      }
      // Once refused, and twice left out.
      expect(server.requests).toHaveLength(4);
    },
  );

  it("that tells no others is asked for the tokens alone", async () => {
    const refusing: Script = (exchange) =>
      "top_logprobs" in exchange.json()
        ? exchange.sendJson(400, { error: { message: "property 'top_logprobs' is unsupported" } })
        : tells([["Hi", content(hi)]], content(hi))(exchange);
    const server = await serve(refusing);
    const backend = opened(backendAt(server.url));
    const { messages, warnings } = await ask(backend, "chat", { topLogprobs: 2 });
    expect([textsOf(messages), warnings]).toEqual([
      ["Hi"],
      ["top_logprobs: not supported by this model, ignored"],
    ]);
    expect(supports(backend)).toContain("logprobs");
    expect(supports(backend)).not.toContain("top_logprobs");
  });
});

test("llama.cpp streams them beside no tools: it is asked for a whole answer, and streamed", async () => {
  const server = await serve((exchange) => {
    const { stream, tools, logprobs } = exchange.json();
    return stream && tools && logprobs
      ? exchange.sendJson(400, {
          error: {
            code: 400,
            message: "logprobs is not supported with tools + stream",
            type: "invalid_request_error",
          },
        })
      : tells([["Hi", content(hi)]], content(hi))(exchange);
  });
  const backend = opened(backendFor(server.url));
  const tools = [{ type: "function", function: { name: "f" } }];
  for (const time of ["first", "second"]) {
    const { code, messages, warnings } = await ask(backend, "chat", { tools });
    expect([code, textsOf(messages), warnings], time).toEqual(["ok", ["Hi"], []]);
  }
  await ask(backend, "chat");
  await ask(backend, "chat", { tools, logprobs: false });
  expect(bodies(server).map(({ stream }) => stream)).toEqual([true, false, false, true, true]);
  expect(backend.models()[0]?.supports).toContain("logprobs");
});

test("Together is told a number, LM Studio nothing", async () => {
  const server = await serve(tells([["Hi", -0.5]], null));
  const at = (dialect: string) => opened(backendFor(server.url, { dialect }));
  const { messages } = await ask(at("together"), "chat", { topLogprobs: 4 });
  expect(textsOf(messages)).toEqual(["Hi"]);
  await ask(at("together"), "chat");
  expect(bodies(server)).toMatchObject([{ logprobs: 4 }, { logprobs: 1 }]);
  expect(bodies(server).some((body) => "top_logprobs" in body)).toBe(false);
  expect(at("lmstudio").models()[0]?.supports).not.toContain("logprobs");
});
