/** Tools, and answers in a form, by every way in. */
import { createClient } from "@connectrpc/connect";
import { describe, expect, test } from "vitest";
import { ChatService, type ToolCall } from "../../gen/lintel/v1/chat_pb.js";
import { toolCall } from "../../src/core/tool-calls.js";
import { connect, grpc, grpcWeb } from "../contract/transports.js";
import { say } from "../support/messages.js";
import { chatModel } from "../support/models.js";
import { callsTools, piece, says, scripted } from "../support/scripted.js";
import { calls, format, parameters, weather } from "./offered.js";
import { chunks, hello, json, serve } from "./serve.js";

const paths = ["/llm", "/v1/chat/completions"];

/** What a backend gets of a request that asks for all of it. */
const asked = {
  tools: [
    {
      type: "function",
      function: { name: "weather", parameters: JSON.stringify(parameters), strict: true },
    },
  ],
  toolChoice: { type: "function", function: { name: "weather" } },
  parallelToolCalls: false,
  responseFormat: {
    type: "json_schema",
    jsonSchema: { name: "place", schema: JSON.stringify(parameters), strict: false },
  },
};

/** Two calls at once, as a model server streams them. */
const pieces: ToolCall[][] = [
  [toolCall(0, "a", "weather", "")],
  [toolCall(0, "", "", '{"city":')],
  [toolCall(0, "", "", '"Rome"}'), toolCall(1, "b", "weather", '{"city":"Oslo"}')],
];

/** What came of them, and how the conversation goes on. */
const turns = [
  { role: "assistant", content: null, tool_calls: calls },
  { role: "tool", tool_call_id: "a", content: "sunny" },
  { role: "tool", tool_call_id: "b", content: [{ type: "text", text: "snow" }] },
];
const conversation = [
  say("user", "Hello"),
  say("assistant", "", {
    toolCalls: [
      toolCall(0, "a", "weather", '{"city":"Rome"}'),
      toolCall(0, "b", "weather", '{"city":"Oslo"}'),
    ],
  }),
  say("tool", "sunny", { toolCallId: "a" }),
  say("tool", "snow", { toolCallId: "b" }),
];

describe.each(paths)("POST %s", (path) => {
  test("hands tools, the choice among them and the answer's form on", async () => {
    const backend = scripted({ chat: says("Hi") });
    const server = await serve(backend);
    const choice = { type: "function", function: { name: "weather" } };
    const more = { tools: [weather], tool_choice: choice, parallel_tool_calls: false };
    const answer = await server.post(path, hello({ ...more, response_format: format }));
    expect(answer.status).toBe(200);
    expect(answer.headers.get("x-lintel-warnings")).toBeNull();
    expect(backend.asked[0]).toMatchObject(asked);
  });

  test.each(["auto", "none", "required"])("takes the choice %j as a word", async (choice) => {
    const backend = scripted({ chat: says("Hi") });
    const server = await serve(backend);
    const tools = [{ function: { name: "f", parameters: null, strict: null } }];
    const answer = await server.post(path, hello({ tools, tool_choice: choice }));
    expect(answer.status).toBe(200);
    expect(backend.asked[0]).toMatchObject({
      tools: [{ type: "", function: { name: "f", parameters: "", strict: undefined } }],
      toolChoice: { type: choice },
    });
  });

  test("offers the same tool once, and says so", async () => {
    const backend = scripted({ chat: says("Hi") });
    const server = await serve(backend);
    const other = { type: "function", function: { name: "f" } };
    const answer = await server.post(path, hello({ tools: [weather, other, weather] }));
    expect(answer.status).toBe(200);
    expect(backend.asked[0]).toMatchObject({
      tools: [...asked.tools, { function: { name: "f" } }],
    });
    expect(answer.headers.get("x-lintel-warnings")).toBe(
      "tools: the same tool is there more than once, offered once",
    );
  });

  test("offers the last tool of a name, and says so", async () => {
    const backend = scripted({ chat: says("Hi") });
    const server = await serve(backend);
    const [first, other, last] = ["weather", "f", "weather"].map((name, i) => ({
      type: "function",
      function: { name, description: `${i}` },
    }));
    const answer = await server.post(path, hello({ tools: [first, other, last] }));
    expect(answer.status).toBe(200);
    expect((backend.asked[0] as { tools: unknown }).tools).toMatchObject([last, other]);
    expect(answer.headers.get("x-lintel-warnings")).toBe(
      "tools: several tools have one name, the last of them is offered",
    );
  });

  test("tells calls in a whole answer", async () => {
    const server = await serve(scripted({ chat: callsTools(...pieces) }));
    const { choices } = await json(await server.post(path, hello({ tools: [weather] })));
    const message = { role: "assistant", content: "", tool_calls: calls };
    expect(choices).toEqual([{ index: 0, message, finish_reason: "tool_calls" }]);
  });

  test("streams calls piece by piece", async () => {
    const server = await serve(scripted({ chat: callsTools(...pieces) }));
    const all = await chunks(await server.post(path, hello({ tools: [weather], stream: true })));
    const full = { role: "assistant", content: "" };
    const rest = path === "/llm" ? full : {};
    const name = "weather";
    expect(all.map(({ choices }) => choices[0].delta)).toEqual([
      {
        ...full,
        tool_calls: [{ index: 0, id: "a", type: "function", function: { name, arguments: "" } }],
      },
      { ...rest, tool_calls: [{ index: 0, function: { arguments: '{"city":' } }] },
      {
        ...rest,
        tool_calls: [
          { index: 0, function: { arguments: '"Rome"}' } },
          { index: 1, id: "b", type: "function", function: calls[1]?.function },
        ],
      },
      rest,
    ]);
    const reasons = all.map(({ choices }) => choices[0].finish_reason);
    expect(reasons).toEqual([null, null, null, "tool_calls"]);
  });

  test("streams text and calls of one answer in their order", async () => {
    const server = await serve(
      scripted({
        async *chat(call) {
          yield [piece("Let me"), piece(" look.")];
          yield* callsTools([toolCall(0, "a", "weather", "{}")])(call);
        },
      }),
    );
    const all = await chunks(await server.post(path, hello({ stream: true })));
    const said = all.map(({ choices: [{ delta }] }) => [
      delta.content ?? "",
      delta.tool_calls?.[0].id,
    ]);
    expect(said).toEqual([
      ["Let me", undefined],
      [" look.", undefined],
      ["", "a"],
      ["", undefined],
    ]);
    expect(all.filter(({ choices }) => choices[0].delta.role)).toHaveLength(
      path === "/llm" ? all.length : 1,
    );
  });

  test("hands on what was called, and what came of it", async () => {
    const backend = scripted({ chat: says("Hi") });
    const server = await serve(backend);
    const { messages } = hello();
    const text = path === "/llm" ? [...turns.slice(0, 2), { ...turns[2], content: "snow" }] : turns;
    const answer = await server.post(path, { messages: [...messages, ...text], tools: [weather] });
    expect(answer.status).toBe(200);
    expect(backend.asked[0]).toHaveProperty("messages", conversation);
  });

  const tool = (more: object) => hello({ tools: [{ function: { name: "f", ...more } }] });
  const said = (message: object) => ({ messages: [{ role: "user", content: "", ...message }] });
  test.each([
    ["tools", hello({ tools: {} })],
    ["tools[0]", hello({ tools: ["f"] })],
    ["tools[0].type", hello({ tools: [{ type: "web_search", function: { name: "f" } }] })],
    ["tools[0].function", hello({ tools: [{ type: "function" }] })],
    ["tools[0].function.name", hello({ tools: [{ function: {} }] })],
    ["tools[0].function.strict", tool({ strict: "yes" })],
    ["tools[0].function.parameters", tool({ parameters: 5 })],
    ["tools[0].function.parameters", tool({ parameters: "{" })],
    ["tools[0].function.parameters", tool({ parameters: [] })],
    ["tools", hello({ tools: Array.from({ length: 1025 }, () => weather) })],
    ["tool_choice.type", hello({ tools: [weather], tool_choice: "always" })],
    ["tool_choice", hello({ tools: [weather], tool_choice: 5 })],
    ["tool_choice", hello({ tool_choice: "required" })],
    ["tool_choice.function", hello({ tools: [weather], tool_choice: { type: "function" } })],
    [
      "tool_choice.function.name",
      hello({ tools: [weather], tool_choice: { type: "function", function: { name: "g" } } }),
    ],
    ["parallel_tool_calls", hello({ parallel_tool_calls: "no" })],
    ["response_format", hello({ response_format: "json_object" })],
    ["response_format.type", hello({ response_format: { type: "xml" } })],
    ["response_format.json_schema", hello({ response_format: { type: "json_schema" } })],
    [
      "response_format.json_schema.name",
      hello({ response_format: { type: "json_schema", json_schema: {} } }),
    ],
    [
      "response_format.json_schema.schema",
      hello({ response_format: { type: "json_schema", json_schema: { name: "a", schema: "x" } } }),
    ],
    ["messages[0].tool_calls", said({ tool_calls: calls })],
    ["messages[0].tool_call_id", said({ tool_call_id: "a" })],
    [
      "messages[0].tool_calls[0].type",
      said({ role: "assistant", tool_calls: [{ type: "x", function: {} }] }),
    ],
    ["messages[0].tool_calls[0].function", said({ role: "assistant", tool_calls: [{ id: "a" }] })],
    [
      "messages[0].tool_calls[0].extra_content",
      said({ role: "assistant", tool_calls: [{ function: { name: "f" }, extra_content: 5 }] }),
    ],
    [
      "messages[0].tool_calls[0].function.arguments",
      said({ role: "assistant", tool_calls: [{ function: { arguments: {} } }] }),
    ],
  ])("422: %s", async (field, body) => {
    const server = await serve(scripted({ chat: says("Hi") }));
    const answer = await server.post(path, body);
    expect(answer.status).toBe(422);
    const { error } = await json(answer);
    expect(error.param).toBe(field);
    expect(error.message).toContain(`${field}: `);
  });

  test("says which kind of tool there is", async () => {
    const server = await serve(scripted({ chat: says("Hi") }));
    const answer = await server.post(path, hello({ tools: [{ ...weather, type: "mcp" }] }));
    expect((await json(answer)).error.message).toBe("tools[0].type: must be function");
  });
});

describe("a model that knows no tools", () => {
  const plain = () => scripted({ chat: says("Hi") }, [chatModel("chat-1", { supports: [] })]);

  test("is told none, and the caller is told so", async () => {
    const backend = plain();
    const server = await serve(backend);
    const body = hello({
      tools: [weather],
      tool_choice: "auto",
      response_format: { type: "text" },
    });
    const { warnings } = await json(await server.post("/llm", body));
    expect(warnings).toEqual(["tools: not supported by this model, ignored"]);
    const parallel = await json(await server.post("/llm", hello({ parallel_tool_calls: false })));
    expect(parallel.warnings).toEqual([
      "parallel_tool_calls: not supported by this model, ignored",
    ]);
    expect(backend.asked[0]).toMatchObject({ tools: [], toolChoice: undefined });
  });

  test("is told what was called, and came of it, as text alone", async () => {
    const backend = plain();
    const server = await serve(backend);
    const messages = [...hello().messages, ...turns.slice(0, 2)];
    const { warnings } = await json(await server.post("/llm", { messages }));
    expect(warnings).toEqual([
      "messages: tool_calls in them are not supported by this model, ignored",
    ]);
    expect(backend.asked[0]).toHaveProperty("messages", [
      say("user", "Hello"),
      say("assistant", ""),
      say("tool", "sunny"),
    ]);
  });

  test.each([
    ["tool_choice", { tools: [weather], tool_choice: "required" }],
    [
      "tool_choice",
      { tools: [weather], tool_choice: { type: "function", function: { name: "weather" } } },
    ],
    ["response_format", { response_format: { type: "json_object" } }],
    ["response_format", { response_format: format }],
  ])("does not answer without what must be: %s", async (param, more) => {
    const server = await serve(plain());
    const answer = await server.post("/v1/chat/completions", hello(more));
    expect(answer.status).toBe(400);
    expect((await json(answer)).error).toMatchObject({ code: "unsupported_parameter", param });
  });
});

describe.each(
  Object.entries({
    gRPC: grpc,
    "gRPC-Web": grpcWeb,
    Connect: connect("binary", "2"),
    "Connect with JSON": connect("JSON", "1.1"),
  }),
)("%s", (_, open) => {
  const options = { headers: { authorization: "Bearer me" } };
  const request = {
    messages: conversation,
    tools: [{ function: { name: "weather", parameters: JSON.stringify(parameters) } }],
    toolChoice: { type: "required" },
    parallelToolCalls: true,
    responseFormat: { type: "json_object" },
  };

  test("calls, whole and in a stream", async () => {
    const backend = scripted({ chat: callsTools(...pieces) });
    const { url } = await serve(backend);
    const client = createClient(ChatService, open(url));
    const whole = await client.complete(request, options);
    expect(whole.choices[0]).toMatchObject({
      finishReason: "tool_calls",
      message: { toolCalls: calls },
    });
    const { messages: _, ...told } = request;
    expect(backend.asked[0]).toMatchObject(told);
    expect(backend.asked[0]).toMatchObject({
      messages: conversation.map(({ role }) => ({ role })),
    });
    const streamed: ToolCall[] = [];
    for await (const { choices } of client.chat(request, options)) {
      streamed.push(...(choices[0]?.delta?.toolCalls ?? []));
    }
    expect(streamed.map(({ index, id, function: it }) => [index, id, it?.arguments])).toEqual([
      [0, "a", ""],
      [0, "", '{"city":'],
      [0, "", '"Rome"}'],
      [1, "b", '{"city":"Oslo"}'],
    ]);
  });

  test("refuses a schema that is nested too deeply to be handed on", async () => {
    const { url } = await serve(scripted({ chat: says("Hi") }));
    const client = createClient(ChatService, open(url));
    const asks = (depth: number) => {
      const parameters = `{"a":${"[".repeat(depth - 1)}${"]".repeat(depth - 1)}}`;
      const tools = [{ function: { name: "f", parameters } }];
      return client.complete({ ...request, tools }, options);
    };
    expect((await asks(1000)).choices[0]?.message?.content).toBe("Hi");
    for (const depth of [1001, 100_000]) {
      await expect(asks(depth)).rejects.toThrow(
        "tools[0].function.parameters: must have at most 1000 objects and lists within each other",
      );
    }
  });

  test("says what is wrong by the fields' names", async () => {
    const { url } = await serve(scripted({ chat: says("Hi") }));
    const client = createClient(ChatService, open(url));
    const wrong = { ...request, toolChoice: { type: "function", function: { name: "g" } } };
    await expect(client.complete(wrong, options)).rejects.toThrow(
      "tool_choice.function.name: must be the name of one of the tools",
    );
    const blank = { ...request, toolChoice: { type: "function", function: { name: "" } } };
    await expect(client.complete(blank, options)).rejects.toThrow(
      /\] tool_choice\.function\.name: must not be empty$/,
    );
  });
});

test("Connect's JSON may have tools as REST has them", async () => {
  const backend = scripted({ chat: says("Hi") });
  const server = await serve(backend);
  const answer = await server.post(
    "/lintel.v1.ChatService/Complete",
    hello({ tools: [weather], tool_choice: "auto", response_format: format }),
  );
  expect(answer.status).toBe(200);
  expect(backend.asked[0]).toMatchObject({
    ...{ tools: asked.tools, responseFormat: asked.responseFormat },
    toolChoice: { type: "auto" },
  });
});
