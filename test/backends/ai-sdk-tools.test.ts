/** Tools, and conversations about their calls, as vendors get them. */
import { create } from "@bufbuild/protobuf";
import { describe, expect, it } from "vitest";
import { LLMRequestSchema } from "../../gen/lintel/v1/chat_pb.js";
import { promptOf } from "../../src/backends/ai-sdk/prompt.js";
import { toolOptions } from "../../src/backends/ai-sdk/tools.js";
import { asked, bodies, played, weatherTools } from "./ai-sdk-calls.js";
import { anthropicAt, compatibleAt, openaiAt } from "./ai-sdk-subject.js";
import { googleAt } from "./ai-sdk-thoughts.js";
import { echo } from "./openai-subject.js";
import { opened, serve } from "./serve.js";
import type { Script, Upstream } from "./upstream.js";

const city = { type: "object", properties: { city: { type: "string" } }, required: ["city"] };
const none = { type: "object", properties: {} };

const call = (id: string, name: string, args: string) => ({
  id,
  type: "function",
  function: { name, arguments: args },
});

/** A conversation in which two tools were called at once, and one more after that. */
const messages = [
  { role: "user", content: "How is the weather?" },
  {
    role: "assistant",
    content: "Let me look.",
    toolCalls: [call("a1", "get_weather", '{"city":"Köln"}'), call("a2", "get_time", "")],
  },
  { role: "tool", content: "rain", toolCallId: "a1" },
  { role: "tool", content: "", toolCallId: "a2" },
  { role: "assistant", content: " ", toolCalls: [call("b1", "get_weather", "not JSON")] },
  { role: "assistant", content: " " },
  { role: "tool", content: "no such city", toolCallId: "b1" },
  { role: "tool", content: "42" },
];

async function sent(
  backendAt: (url: string) => ReturnType<typeof anthropicAt>,
  name: string,
  request: object,
) {
  const server = await serve(name === "" ? echo : played(name));
  const { code, warnings } = await asked(opened(backendAt(server.url)), "chat", request);
  expect([code, warnings]).toEqual(["ok", []]);
  return bodies(server)[0];
}

describe("Anthropic", () => {
  const body = (request: object) => sent(anthropicAt, "anthropic/tool-events", request);

  it("gets tools", async () => {
    const tools = [weatherTools[1]];
    expect(await body({ tools })).toMatchObject({
      tools: [{ name: "get_time", input_schema: none }],
    });
    const plain = await body({});
    expect([plain.tools, plain.tool_choice]).toEqual([undefined, undefined]);
  });

  it.each([
    [undefined, undefined],
    [{ type: "auto" }, { type: "auto" }],
    [{ type: "none" }, { type: "none" }],
    [{ type: "required" }, { type: "any" }],
    [
      { type: "function", function: { name: "get_time" } },
      { type: "tool", name: "get_time" },
    ],
  ])("gets a choice: %j", async (toolChoice, expected) => {
    const tools = [weatherTools[1]];
    expect((await body({ tools, toolChoice })).tool_choice).toEqual(expected);
  });

  it("gets calls and results", async () => {
    const tools = [weatherTools[1]];
    expect((await body({ messages, tools })).messages).toEqual([
      { role: "user", content: [{ type: "text", text: "How is the weather?" }] },
      {
        role: "assistant",
        content: [
          { type: "text", text: "Let me look." },
          { type: "tool_use", id: "a1", name: "get_weather", input: { city: "Köln" } },
          { type: "tool_use", id: "a2", name: "get_time", input: {} },
        ],
      },
      {
        role: "user",
        content: [
          { type: "tool_result", tool_use_id: "a1", content: "rain" },
          { type: "tool_result", tool_use_id: "a2", content: "" },
        ],
      },
      {
        role: "assistant",
        content: [
          {
            type: "tool_use",
            id: "b1",
            name: "get_weather",
            input: { rawInvalidInput: "not JSON" },
          },
        ],
      },
      {
        role: "user",
        content: [
          { type: "tool_result", tool_use_id: "b1", content: "no such city" },
          { type: "text", text: "42" },
        ],
      },
    ]);
  });
});

describe("numbers in calls that JavaScript has none for", () => {
  const args =
    '{"ids":[9007199254740993,-12345678901234567890],"most":1e400,"least":-0,"t":"12345678901234567890"}';
  const conversation = [
    { role: "user", content: "Look." },
    { role: "assistant", toolCalls: [call("a", "get_weather", args)] },
    { role: "tool", content: "rain", toolCallId: "a" },
  ];
  const refusing: Script = (exchange) => exchange.sendJson(400, { error: { message: "no" } });
  const written = async (backend: ReturnType<typeof anthropicAt>, server: Upstream) => {
    await asked(opened(backend), "chat", { messages: conversation, tools: weatherTools });
    return String(server.requests[0]?.body);
  };

  it.each<[string, (url: string) => ReturnType<typeof anthropicAt>, string]>([
    ["Anthropic", anthropicAt, `"input":${args}`],
    ["Google", (url) => googleAt(url, { models: [{ id: "m" }] }), `"args":${args}`],
    ["OpenAI", openaiAt, `"arguments":${JSON.stringify(args)}`],
    ["a server of OpenAI's form", compatibleAt, `"arguments":${JSON.stringify(args)}`],
  ])("reach %s as they were written", async (_, backendAt, part) => {
    const server = await serve(refusing);
    expect(await written(backendAt(server.url), server)).toContain(part);
  });
});

describe("a server of OpenAI's form", () => {
  const body = (request: object) => sent(compatibleAt, "", request);

  it("gets tools", async () => {
    const toolChoice = { type: "function", function: { name: "get_time" } };
    const { tools, tool_choice } = await body({ tools: weatherTools, toolChoice });
    const [weather] = weatherTools;
    expect(tools).toEqual([
      {
        type: "function",
        function: { ...weather?.function, parameters: city },
      },
      { type: "function", function: { name: "get_time", parameters: none } },
    ]);
    expect(tool_choice).toEqual({ type: "function", function: { name: "get_time" } });
  });

  it.each(["auto", "none", "required"])("gets a choice: %s", async (type) => {
    const { tool_choice } = await body({ tools: weatherTools, toolChoice: { type } });
    expect(tool_choice).toBe(type);
  });

  it("gets a schema that names no type, or has no properties, as that of an object", async () => {
    const parameters = ["{}", '{"type":"object"}', '{"$ref":"#/$defs/a","$defs":{"a":{}}}'];
    const tools = parameters.map((it, i) => ({ function: { name: `f${i}`, parameters: it } }));
    const { tools: got } = await body({ tools });
    expect(got.map((it: { function: object }) => it.function)).toEqual([
      { name: "f0", parameters: none },
      { name: "f1", parameters: none },
      { name: "f2", parameters: { ...none, $ref: "#/$defs/a", $defs: { a: {} } } },
    ]);
  });

  it("gets calls and results", async () => {
    const { messages: got } = await body({ messages, tools: weatherTools });
    expect(got.slice(1)).toEqual([
      {
        role: "assistant",
        content: "Let me look.",
        tool_calls: [call("a1", "get_weather", '{"city":"Köln"}'), call("a2", "get_time", "{}")],
      },
      { role: "tool", tool_call_id: "a1", content: "rain" },
      { role: "tool", tool_call_id: "a2", content: "" },
      {
        role: "assistant",
        content: null,
        tool_calls: [call("b1", "get_weather", '{"rawInvalidInput":"not JSON"}')],
      },
      { role: "tool", tool_call_id: "b1", content: "no such city" },
      { role: "user", content: "42" },
    ]);
  });
});

describe("OpenAI's Responses API", () => {
  it("gets tools, a choice, calls and results", async () => {
    const toolChoice = { type: "required" };
    const request = { messages: messages.slice(0, 4), tools: weatherTools, toolChoice };
    const got = await sent(openaiAt, "openai/responses-function-call", request);
    expect(got.tools).toMatchObject([
      { type: "function", ...weatherTools[0]?.function, parameters: city },
      { type: "function", name: "get_time", parameters: none },
    ]);
    expect(got.tool_choice).toBe("required");
    expect(got.input.slice(2)).toEqual([
      {
        type: "function_call",
        call_id: "a1",
        name: "get_weather",
        arguments: '{"city":"Köln"}',
      },
      { type: "function_call", call_id: "a2", name: "get_time", arguments: "{}" },
      { type: "function_call_output", call_id: "a1", output: "rain" },
      { type: "function_call_output", call_id: "a2", output: "" },
    ]);
  });
});

describe("a provider", () => {
  it("is told of results by the names of tools, those of one turn together, as Google's wants it", () => {
    const result = (toolCallId: string, toolName: string, value: string) => ({
      ...{ type: "tool-result", toolCallId, toolName },
      output: { type: "text", value },
    });
    const { messages: told } = create(LLMRequestSchema, { messages });
    expect(promptOf(told).filter(({ role }) => role === "tool")).toEqual([
      {
        role: "tool",
        content: [result("a1", "get_weather", "rain"), result("a2", "get_time", "")],
      },
      { role: "tool", content: [result("b1", "get_weather", "no such city")] },
    ]);
    const lost = create(LLMRequestSchema, { messages: messages.slice(2, 3) });
    expect(promptOf(lost.messages)).toEqual([
      { role: "tool", content: [result("a1", "", "rain")] },
    ]);
  });

  it("is told of no choice where there are no tools", () => {
    const request = create(LLMRequestSchema, { toolChoice: { type: "none" } });
    expect(toolOptions(request)).toEqual({});
  });
});

it("parallel_tool_calls, for which providers have no common option, is told to be left out", async () => {
  const server = await serve(echo);
  const request = { tools: weatherTools, parallelToolCalls: false };
  const { code, warnings } = await asked(opened(compatibleAt(server.url)), "chat", request);
  expect([code, warnings]).toEqual([
    "ok",
    ["parallel_tool_calls: not supported by this model, ignored"],
  ]);
});
