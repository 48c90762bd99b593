/** Calls of tools in answers, whole and in streams. */
import { createOpenAI } from "@ai-sdk/openai";
import type { LanguageModelV3, LanguageModelV3StreamPart } from "@ai-sdk/provider";
import { describe, expect, it } from "vitest";
import type { ToolCall } from "../../gen/lintel/v1/chat_pb.js";
import { chat } from "../../src/backends/ai-sdk/chat.js";
import { asEvents } from "../../src/backends/ai-sdk/whole.js";
import { never } from "../support/calls.js";
import { asked, played, weatherTools } from "./ai-sdk-calls.js";
import { anthropicAt, compatibleAt, openaiAt } from "./ai-sdk-subject.js";
import { fixture } from "./fixture.js";
import { chatRequest, chunk } from "./openai-subject.js";
import { opened, serve } from "./serve.js";
import { callOf } from "./subject.js";
import type { Script } from "./upstream.js";

/** One without arguments, of which Anthropic's provider has nothing to warn. */
const tools = [weatherTools[1]];

/** Pieces of calls that a model streams. */
async function pieces(model: LanguageModelV3): Promise<readonly ToolCall[]> {
  const known = { model, package: "", providerOptions: {}, refused: new Set<string>(), learn() {} };
  const found: ToolCall[] = [];
  for await (const step of chat(known, callOf("chat", chatRequest()), never)) {
    found.push(...step.flatMap(({ choices }) => choices[0]?.delta?.toolCalls ?? []));
  }
  return found;
}

const told = (calls: readonly ToolCall[]) =>
  calls.map(({ index, id, function: it }) => [index, id, it?.name, it?.arguments]);

describe("Anthropic", () => {
  const asks = async (script: Script, method: "chat" | "complete" = "chat") =>
    asked(opened(anthropicAt((await serve(script)).url)), method, { tools });

  it("streams parallel calls, one of them without arguments", async () => {
    const { text, calls, messages, finishReason } = await asks(played("anthropic/tool-events"));
    expect([text, finishReason]).toEqual(["Let me look.", "tool_calls"]);
    expect(calls).toEqual([
      ["toolu_01T1x1", "get_weather", '{"city": "Köln"}'],
      ["toolu_01Uy2", "get_time", "{}"],
    ]);
    const pieces = messages.flatMap(({ choices }) => choices[0]?.delta?.toolCalls ?? []);
    expect(pieces.map(({ index, function: it }) => [index, it?.arguments])).toEqual([
      [0, ""],
      [0, '{"city":'],
      [0, ' "Kö'],
      [0, 'ln"}'],
      [1, ""],
      [1, "{}"],
    ]);
  });

  it("answers whole with calls, and with tools that it has run itself, which are none", async () => {
    const answer = await asks(played("anthropic/tool-whole"), "complete");
    expect([answer.text, answer.finishReason]).toEqual(["Let me look.", "tool_calls"]);
    expect(answer.calls).toEqual([
      ["toolu_01T1x1", "get_weather", '{"city":"Köln"}'],
      ["toolu_01Uy2", "get_time", "{}"],
    ]);
  });

  it("streams no calls of tools that it runs itself", async () => {
    const { text, calls, finishReason } = await asks(played("anthropic/web-search-events"));
    expect([text, calls, finishReason]).toEqual(["It rains.", [], "stop"]);
  });

  const events = String(fixture("anthropic/tool-events").body).split(/(?<=\n\n)/);

  it.each([
    { type: "content_block_start", index: 3, content_block: { type: "tool_use", uses: 1 } },
    { type: "content_block_delta", index: 2, delta: { type: "input_json_delta", json: "{" } },
  ])("may not call in a form that its provider does not know: %j", async (event) => {
    const added = `event: ${event.type}\ndata: ${JSON.stringify(event)}\n\n`;
    const failed = await asks(async (exchange) => {
      await exchange.stream(events.slice(0, -4).join(""), added, events.slice(-4).join(""));
      await exchange.end();
    });
    expect(failed.code).toBe("upstream_failed");
  });
});

describe("OpenAI's Responses API", () => {
  it("streams a call", async () => {
    const server = await serve(played("openai/responses-function-call"));
    const request = { tools: weatherTools };
    const { calls, finishReason } = await asked(opened(openaiAt(server.url)), "chat", request);
    expect(calls).toEqual([["call_x1", "get_weather", '{"city":"Köln"}']]);
    expect(finishReason).toBe("tool_calls");
  });
});

describe("a server of OpenAI's form", () => {
  const called = (index: number, more: object, args: string) => ({
    tool_calls: [{ index, ...more, function: { ...more, arguments: args } }],
  });
  const named = (id: string, name: string) => ({ id, type: "function", name });
  const whole = (id: string, name: string, args: string) => ({
    ...{ id, type: "function" },
    function: { name, arguments: args },
  });
  const both = [whole("a", "get_weather", '{"city":"Köln"}'), whole("b", "get_time", "{}")];
  const asks = async (script: Script, method: "chat" | "complete" = "chat") => {
    const backend = opened(compatibleAt((await serve(script)).url));
    return asked(backend, method, { tools: weatherTools });
  };
  const streaming =
    (...deltas: object[]): Script =>
    async (exchange) => {
      const pieces = deltas.map((delta) => chunk(delta));
      await exchange.stream(...pieces, chunk({}, "tool_calls"), "data: [DONE]\n\n");
      await exchange.end();
    };

  it.each<[string, Script]>([
    [
      "piece by piece, one among the other",
      streaming(
        called(0, named("a", "get_weather"), ""),
        called(0, {}, '{"city":'),
        called(1, named("b", "get_time"), ""),
        called(0, {}, '"Köln"}'),
        called(1, {}, "{}"),
      ),
    ],
    ["whole, without an index, as Google's", streaming({ tool_calls: both })],
    [
      "in a whole answer where a stream was asked for",
      (exchange) => {
        const message = { role: "assistant", content: null, tool_calls: both };
        const choices = [{ index: 0, message, finish_reason: "tool_calls" }];
        return exchange.sendJson(200, { id: "c", created: 1, model: "m", choices });
      },
    ],
  ])("streams calls: %s", async (_, script) => {
    const { calls, finishReason } = await asks(script);
    expect(calls).toEqual([
      ["a", "get_weather", '{"city":"Köln"}'],
      ["b", "get_time", "{}"],
    ]);
    expect(finishReason).toBe("tool_calls");
  });

  it("streams calls in a whole answer also by OpenAI's provider, which looks for an index", async () => {
    const message = { role: "assistant", content: null, tool_calls: both };
    const choices = [{ index: 0, message, finish_reason: "tool_calls" }];
    const answer = { id: "c", created: 1, model: "m", choices };
    const { url } = await serve((exchange) => exchange.sendJson(200, answer));
    const fetch: typeof globalThis.fetch = async (...asked) =>
      (await asEvents((await globalThis.fetch(...asked)) as never)) as never;
    const model = createOpenAI({ baseURL: `${url}/v1`, apiKey: "k", fetch }).chat("m");
    expect(told(await pieces(model))).toEqual([
      [0, "a", "get_weather", ""],
      [0, "", "", '{"city":"Köln"}'],
      [1, "b", "get_time", ""],
      [1, "", "", "{}"],
    ]);
  });

  it("answers whole with calls", async () => {
    const answer = await asks((exchange) => {
      const message = { role: "assistant", content: "Wait.", tool_calls: both };
      const choices = [{ index: 0, message, finish_reason: "tool_calls" }];
      return exchange.sendJson(200, { id: "c", created: 1, model: "m", choices });
    }, "complete");
    expect([answer.text, answer.finishReason]).toEqual(["Wait.", "tool_calls"]);
    expect(answer.calls).toEqual([
      ["a", "get_weather", '{"city":"Köln"}'],
      ["b", "get_time", "{}"],
    ]);
  });

  it("may break off in the middle of a call: that is no end", async () => {
    const failed = await asks(async (exchange) => {
      await exchange.stream(chunk(called(0, named("a", "get_weather"), '{"ci')));
      await exchange.end();
    });
    expect(failed.code).toBe("upstream_failed");
  });
});

describe("a provider", () => {
  /** Pieces of calls that are made of the parts of a stream. */
  function piecesOf(...parts: LanguageModelV3StreamPart[]): Promise<readonly ToolCall[]> {
    const finishReason = { unified: "tool-calls", raw: "tool_calls" };
    const finish = { type: "finish", finishReason, usage: { inputTokens: {}, outputTokens: {} } };
    const doStream = async () => ({ stream: ReadableStream.from([...parts, finish]) });
    return pieces({ doStream } as unknown as LanguageModelV3);
  }
  const call = (toolCallId: string, input: string, providerExecuted = false) =>
    ({ type: "tool-call", toolCallId, toolName: "f", input, providerExecuted }) as const;
  const start = (id: string, providerExecuted = false) =>
    ({ type: "tool-input-start", id, toolName: "f", providerExecuted }) as const;
  const delta = (id: string, text: string) =>
    ({ type: "tool-input-delta", id, delta: text }) as const;

  it("may tell of whole calls only, as Google's and Cohere's do", async () => {
    expect(told(await piecesOf(call("a", "{}"), call("b", '{"x":1}')))).toEqual([
      [0, "a", "f", "{}"],
      [1, "b", "f", '{"x":1}'],
    ]);
  });

  it("may give two calls one id", async () => {
    const one = [start("a"), delta("a", "1"), call("a", "1")];
    expect(told(await piecesOf(...one, ...one, call("a", "2")))).toEqual([
      [0, "a", "f", ""],
      [0, "", "", "1"],
      [1, "a", "f", ""],
      [1, "", "", "1"],
      [2, "a", "f", "2"],
    ]);
  });

  it("may run tools itself, which are none of the answer", async () => {
    const own = [start("a", true), delta("a", "1"), call("a", "1", true)];
    expect(told(await piecesOf(...own, call("b", "{}")))).toEqual([[0, "b", "f", "{}"]]);
  });
});
