/** Streams of calls as odd servers write them, by each vendor's own SDK: what it puts together is whole. */
import Anthropic from "@anthropic-ai/sdk";
import { createClient } from "@connectrpc/connect";
import { createGrpcTransport } from "@connectrpc/connect-node";
import { GoogleGenAI } from "@google/genai";
import OpenAI from "openai";
import { describe, expect, test } from "vitest";
import { ChatService, type ToolCall } from "../../gen/lintel/v1/chat_pb.js";
import { joinCalls } from "../../src/core/tool-calls.js";
import { chunk } from "../backends/openai-subject.js";
import { chunks } from "../doors/serve.js";
import { streamed } from "./streamed.js";
import { citySchema } from "./weather.js";

/** A piece of a call, as it stands in a `delta`. */
const piece = (more: object, args?: string, name?: string) => ({
  tool_calls: [
    {
      ...more,
      function: {
        ...(name !== undefined && { name }),
        ...(args !== undefined && { arguments: args }),
      },
    },
  ],
});
const done = "data: [DONE]\n\n";
const usage = { prompt_tokens: 3, completion_tokens: 5, total_tokens: 8 };
const end = chunk({}, "tool_calls");

type Called = readonly (readonly [name: string, city: string])[];
const rome: Called = [["weather", "Rome"]];
const both: Called = [...rome, ["map", "Oslo"]];

/** What a server sends, and what was called. */
const streams: Readonly<Record<string, readonly [events: (string | object)[], called: Called]>> = {
  "indexes with gaps, out of order": [
    [
      chunk(piece({ index: 7, id: "a", type: "function" }, '{"city":', "weather")),
      chunk(piece({ index: 2, id: "b", type: "function" }, '{"city":"Oslo"}', "map")),
      chunk(piece({ index: 7 }, '"Rome"}')),
      ...[end, done],
    ],
    both,
  ],
  "pieces of two calls in turns": [
    [
      chunk(piece({ index: 0, id: "a" }, "", "weather")),
      chunk(piece({ index: 1, id: "b" }, "", "map")),
      chunk(piece({ index: 0 }, '{"ci')),
      chunk(piece({ index: 1 }, '{"city"')),
      chunk(piece({ index: 0 }, 'ty":"Rome"}')),
      chunk(piece({ index: 1 }, ':"Oslo"}')),
      ...[end, done],
    ],
    both,
  ],
  "ids that are empty": [
    [
      chunk(piece({ index: 0, id: "" }, '{"city":"Rome"}', "weather")),
      chunk(piece({ index: 1, id: "" }, '{"city":"Oslo"}', "map")),
      ...[end, done],
    ],
    both,
  ],
  "one id for both": [
    [
      chunk(piece({ index: 0, id: "a" }, '{"city":"Rome"}', "weather")),
      chunk(piece({ index: 1, id: "a" }, '{"city":"Oslo"}', "map")),
      ...[end, done],
    ],
    both,
  ],
  "no index, and all of a call at once": [
    [
      chunk(piece({ id: "a" }, '{"city":"Rome"}', "weather")),
      chunk(piece({ id: "b" }, '{"city":"Oslo"}', "map")),
      ...[end, done],
    ],
    both,
  ],
  "a name behind the id": [
    [
      chunk(piece({ index: 0, id: "a", type: "function" })),
      chunk(piece({ index: 0 }, undefined, "weather")),
      chunk(piece({ index: 0 }, '{"city":"Rome"}')),
      ...[end, done],
    ],
    rome,
  ],
  "a name behind arguments": [
    [
      chunk(piece({ index: 0, id: "a" }, '{"city":')),
      chunk(piece({ index: 0 }, '"Rome"}', "weather")),
      ...[end, done],
    ],
    rome,
  ],
  "id and name in each piece": [
    [
      chunk(piece({ index: 0, id: "a" }, '{"city":', "weather")),
      chunk(piece({ index: 0, id: "a" }, '"Rome"}', "weather")),
      ...[end, done],
    ],
    rome,
  ],
  "counts ahead of the last choice, and no end marker": [
    [
      chunk(piece({ index: 0, id: "a" }, '{"city":"Rome"}', "weather")),
      { ...chunk({}), choices: [], usage },
      end,
    ],
    rome,
  ],
  "counts behind it, and a choice that nobody asked for": [
    [
      chunk(piece({ index: 0, id: "a" }, '{"city":"Rome"}', "weather")),
      {
        ...chunk({}),
        choices: [
          { index: 1, delta: piece({ index: 0, id: "z" }, "{}", "map"), finish_reason: null },
        ],
      },
      ...[end, { ...chunk({}), choices: [], usage }, done],
    ],
    rome,
  ],
  "the reason stop": [
    [
      chunk(piece({ index: 0, id: "a" }, '{"city":"Rome"}', "weather")),
      ...[chunk({}, "stop"), done],
    ],
    rome,
  ],
};

const names = ["weather", "map"];
const question = { role: "user" as const, content: "Hello" };
const parameters = { ...citySchema, required: [...citySchema.required] };

/** The calls that each SDK puts together, their arguments as it read them. */
const sdks: Readonly<Record<string, (url: string) => Promise<[name: string, args: unknown][]>>> = {
  async "openai, chat completions"(url) {
    const client = new OpenAI({ baseURL: `${url}/v1`, apiKey: "me", maxRetries: 0 });
    const tools = names.map((name) => ({
      type: "function" as const,
      function: { name, parameters },
    }));
    const stream = client.chat.completions.stream({ model: "m", messages: [question], tools });
    const { choices } = await stream.finalChatCompletion();
    expect(choices).toHaveLength(1);
    expect(choices[0]?.finish_reason).toBe("tool_calls");
    const calls = choices[0]?.message.tool_calls ?? [];
    expect(new Set(calls.map(({ id }) => id)).size).toBe(calls.length);
    return calls.map((call) => {
      if (call.type !== "function") throw new Error(call.type);
      return [call.function.name, JSON.parse(call.function.arguments)];
    });
  },
  async "openai, responses"(url) {
    const client = new OpenAI({ baseURL: `${url}/v1`, apiKey: "me", maxRetries: 0 });
    const tools = names.map((name) => ({
      ...{ type: "function" as const, name, parameters, strict: false },
    }));
    const stream = client.responses.stream({ model: "m", input: "Hello", store: false, tools });
    const { output, status } = await stream.finalResponse();
    expect(status).toBe("completed");
    return output.flatMap((item) =>
      item.type === "function_call" ? [[item.name, JSON.parse(item.arguments)]] : [],
    );
  },
  async "@anthropic-ai/sdk"(url) {
    const client = new Anthropic({ baseURL: url, apiKey: "me", maxRetries: 0 });
    const tools = names.map((name) => ({ name, input_schema: parameters }));
    const asked = { model: "m", max_tokens: 100, messages: [question], tools };
    const { content, stop_reason } = await client.messages.stream(asked).finalMessage();
    expect(stop_reason).toBe("tool_use");
    return content.flatMap((block) =>
      block.type === "tool_use" ? [[block.name, block.input]] : [],
    );
  },
  async "@google/genai"(url) {
    const client = new GoogleGenAI({ apiKey: "me", httpOptions: { baseUrl: url } });
    const functionDeclarations = names.map((name) => ({
      ...{ name, parametersJsonSchema: parameters },
    }));
    const stream = await client.models.generateContentStream({
      ...{ model: "m", contents: "Hello", config: { tools: [{ functionDeclarations }] } },
    });
    const calls: [string, unknown][] = [];
    for await (const { functionCalls = [] } of stream) {
      for (const { name = "", args } of functionCalls) calls.push([name, args]);
    }
    return calls;
  },
  async "POST /llm"(url) {
    const tools = names.map((name) => ({ type: "function", function: { name, parameters } }));
    const body = { model: "m", messages: [question], stream: true, tools };
    const headers = { "content-type": "application/json", authorization: "Bearer me" };
    const init = { method: "POST", headers, body: JSON.stringify(body) };
    const answer = await chunks(await fetch(`${url}/llm`, init));
    expect(answer.at(-1).choices[0].finish_reason).toBe("tool_calls");
    const pieces = answer.flatMap(({ choices }) => choices[0]?.delta.tool_calls ?? []);
    const calls: Record<number, [name: string, args: string]> = {};
    for (const { index, id, function: called } of pieces) {
      // Who has an id has the name, and begins a call.
      if (id !== undefined) calls[index] = [called.name, ""];
      (calls[index] as [string, string])[1] += called.arguments;
    }
    return Object.values(calls).map(([name, args]) => [name, JSON.parse(args)]);
  },
  async gRPC(url) {
    const client = createClient(ChatService, createGrpcTransport({ baseUrl: url }));
    const tools = names.map((name) => ({
      ...{ type: "function", function: { name, parameters: JSON.stringify(parameters) } },
    }));
    const headers = { authorization: "Bearer me" };
    const asked = { model: "m", messages: [question], tools };
    const calls: ToolCall[] = [];
    let reason = "";
    for await (const { choices } of client.chat(asked, { headers })) {
      calls.push(...(choices[0]?.delta?.toolCalls ?? []));
      reason = choices[0]?.finishReason ?? "";
    }
    expect(reason).toBe("tool_calls");
    return joinCalls(calls).map(({ function: it }) => [
      it?.name ?? "",
      JSON.parse(it?.arguments ?? ""),
    ]);
  },
};

describe.each(Object.entries(sdks))("%s", (_, called) => {
  test.each(Object.entries(streams))("%s", async (_, [events, expected]) => {
    expect(await called(await streamed(events))).toEqual(
      expected.map(([name, city]) => [name, { city }]),
    );
  });
});
