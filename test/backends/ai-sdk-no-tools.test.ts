/** Models that know no tools. */
import { createOpenAI } from "@ai-sdk/openai";
import { create } from "@bufbuild/protobuf";
import { describe, expect, it } from "vitest";
import { LLMRequestSchema } from "../../gen/lintel/v1/chat_pb.js";
import { complete } from "../../src/backends/ai-sdk/chat.js";
import { toolCall } from "../../src/core/tool-calls.js";
import { never } from "../support/calls.js";
import { asked, bodies, thrownBy, weatherTools } from "./ai-sdk-calls.js";
import { compatibleAt, compatibleKinds } from "./ai-sdk-subject.js";
import { fixture } from "./fixture.js";
import { chatRequest, chunk } from "./openai-subject.js";
import { opened, serve } from "./serve.js";
import { callOf } from "./subject.js";
import type { Script } from "./upstream.js";

describe("a vendor that refuses tools for a model", () => {
  const refusing =
    (name: string): Script =>
    async (exchange) => {
      const { tools: offered, messages } = exchange.json();
      if (offered) return exchange.play(fixture(name));
      await exchange.stream(chunk({ content: messages.at(-1).content }), chunk({}, "stop"));
      await exchange.end();
    };
  const vendors = ["ollama/refuses-tools", "google/refuses-tools", "bedrock/refuses-tools"];
  const messages = [
    { role: "user", content: "hello" },
    { role: "assistant", content: "", toolCalls: [toolCall(0, "a", "get_time", "{}")] },
    { role: "tool", content: "noon", toolCallId: "a" },
  ];

  it.each(vendors)(
    "is asked without those that are only offered, and then no more: %s",
    async (name) => {
      const server = await serve(refusing(name));
      const backend = opened(compatibleAt(server.url));
      const first = await asked(backend, "chat", { tools: weatherTools, messages });
      expect([first.text, first.warnings]).toEqual([
        "noon",
        ["tools: not supported by this model, ignored"],
      ]);
      expect(bodies(server)[1].messages).toEqual([
        { role: "user", content: "hello" },
        { role: "user", content: "noon" },
      ]);
      expect(backend.models()[0]?.supports).not.toContain("tools");
      const second = await asked(backend, "chat", { tools: weatherTools });
      expect([second.text, second.warnings]).toEqual(["How is the weather?", first.warnings]);
      expect(server.requests).toHaveLength(3);
    },
  );

  it.each(
    compatibleKinds.flatMap(([kind, backendAt]) =>
      vendors.map((name) => [kind, name, backendAt] as const),
    ),
  )("is none for who must have one called, known or not: %s, %s", async (_, name, backendAt) => {
    const server = await serve(refusing(name));
    const backend = opened(backendAt(server.url));
    await backend.ready?.("m", never);
    const forced = { tools: weatherTools, toolChoice: { type: "required" } };
    const { code, error } = await asked(backend, "chat", forced);
    expect([code, error?.param]).toEqual(["unsupported_parameter", "tools"]);
    expect(error?.message).toMatch(
      /^tools: the model server refused the request: .*(?:tool|function)/i,
    );
    await asked(backend, "chat", { tools: weatherTools });
    const asking = server.requests.length;
    expect((await asked(backend, "chat", forced)).code).toBe("unsupported_parameter");
    expect(server.requests).toHaveLength(asking);
  });
});

describe("a vendor that refuses what the caller needs", () => {
  const forced = { tools: weatherTools, toolChoice: { type: "required" } };
  const json = { responseFormat: { type: "json_object" } };

  it.each([
    ["bedrock/refuses-tool-choice", "tool_choice", forced],
    ["google/refuses-json", "response_format", json],
    ["google/refuses-json-with-tools", "response_format", { ...json, tools: weatherTools }],
  ])("is not asked without, and another target may take it: %s", async (name, param, request) => {
    const server = await serve((exchange) => exchange.play(fixture(name)));
    const { code, error } = await asked(opened(compatibleAt(server.url)), "complete", request);
    expect([code, error?.param, error?.retry]).toEqual([
      "unsupported_parameter",
      param,
      "elsewhere",
    ]);
    expect(server.requests).toHaveLength(1);
  });
});

describe("a provider whose models know neither tools nor forms, such as those of OpenAI's completions", () => {
  const text_completion = {
    ...{ id: "cmpl-1", object: "text_completion", created: 1, model: "gpt-3.5-turbo-instruct" },
    choices: [{ text: "Hello", index: 0, logprobs: null, finish_reason: "stop" }],
    usage: { prompt_tokens: 5, completion_tokens: 1, total_tokens: 6 },
  };

  async function completed(request: object) {
    const server = await serve((exchange) => exchange.sendJson(200, text_completion));
    const provider = createOpenAI({ baseURL: `${server.url}/v1`, apiKey: "k" });
    const refused = new Set<string>();
    const known = {
      model: provider.completion("gpt-3.5-turbo-instruct"),
      ...{ package: "@ai-sdk/openai", providerOptions: {}, refused },
      learn: (field: string) => void refused.add(field),
    };
    const call = callOf("complete", chatRequest(request));
    const ask = async () => {
      for await (const [answer] of complete(known, call, never)) {
        return answer?.choices[0]?.message?.content;
      }
    };
    return { ask, call, server, refused };
  }
  const { tools } = create(LLMRequestSchema, { tools: [{ function: { name: "get_time" } }] });
  const choice = (type: string) => create(LLMRequestSchema, { toolChoice: { type } }).toolChoice;
  const { responseFormat } = create(LLMRequestSchema, { responseFormat: { type: "json_object" } });

  it("is given none from then on, and who offered them is warned", async () => {
    const { ask, call, refused } = await completed({ tools, toolChoice: choice("auto") });
    expect(await ask()).toBe("Hello");
    expect([...call.warnings]).toEqual(["tools: not supported by this model, ignored"]);
    expect(refused).toContain("tools");
  });

  it.each([
    ["tools", { tools, toolChoice: choice("required") }],
    ["response_format", { responseFormat }],
  ])("does not answer who needs %s, and is not asked again", async (param, request) => {
    const { ask, server } = await completed(request);
    for (const time of ["first", "second"]) {
      expect(await thrownBy(ask()), time).toMatchObject({ code: "unsupported_parameter", param });
    }
    expect(server.requests).toHaveLength(1);
  });
});
