/** Tools and forms of answers on OpenAI-compatible servers: what they get, and what they answer. */
import { describe, expect, it } from "vitest";
import type { LLMRequest, LLMResponse, ToolCall } from "../../gen/lintel/v1/chat_pb.js";
import { joinCalls, toolCall } from "../../src/core/tool-calls.js";
import { imagePart, say, textPart } from "../support/messages.js";
import { functionTool } from "../support/tools.js";
import { against, chat, complete } from "./openai-calls.js";
import { chatRequest, echo, streamOf } from "./openai-subject.js";
import { callOf } from "./subject.js";
import type { Script } from "./upstream.js";

const schema = { type: "object", properties: { city: { type: "string" } } };
const weather = (more: object = {}) =>
  functionTool("weather", schema, { description: "The weather.", ...more });
const choice = (type: string, name?: string): NonNullable<LLMRequest["toolChoice"]> => ({
  $typeName: "lintel.v1.ToolChoice",
  type,
  ...(name && { function: { $typeName: "lintel.v1.FunctionName", name } }),
});
const format = (type: string, jsonSchema?: object) =>
  ({
    $typeName: "lintel.v1.ResponseFormat",
    type,
    ...(jsonSchema && {
      jsonSchema: { $typeName: "lintel.v1.JsonSchemaFormat", ...jsonSchema },
    }),
  }) as NonNullable<LLMRequest["responseFormat"]>;

const conversation = [
  say("user", "Rome?"),
  say("assistant", "", { toolCalls: [toolCall(0, "a", "weather", '{"city":"Rome"}')] }),
  say("tool", "sunny", { toolCallId: "a" }),
];

describe("the body", () => {
  it("has the tools as they are, and what was called", async () => {
    const server = await against(echo);
    await complete(server, {
      messages: conversation,
      tools: [weather({ strict: true }), weather({ name: "now", description: "", parameters: "" })],
      toolChoice: choice("function", "weather"),
      parallelToolCalls: false,
    });
    expect(server.bodies()[0]).toMatchObject({
      messages: [
        { role: "user", content: "Rome?" },
        {
          role: "assistant",
          content: null,
          tool_calls: [
            {
              id: "a",
              type: "function",
              function: { name: "weather", arguments: '{"city":"Rome"}' },
            },
          ],
        },
        { role: "tool", content: "sunny", tool_call_id: "a" },
      ],
      tool_choice: { type: "function", function: { name: "weather" } },
      parallel_tool_calls: false,
    });
    expect(server.bodies()[0].tools).toEqual([
      {
        type: "function",
        function: {
          ...{ name: "weather", description: "The weather.", parameters: schema },
          strict: true,
        },
      },
      { type: "function", function: { name: "now" } },
    ]);
  });

  it.each([
    ["none", "none"],
    ["required", "required"],
    ["auto", undefined],
  ])("has the choice %s as %s", async (type, sent) => {
    const server = await against(echo);
    await complete(server, { tools: [weather()], toolChoice: choice(type) });
    expect(server.bodies()[0].tool_choice).toBe(sent);
  });

  it("has numbers of schemas as they are written, which JavaScript would round", async () => {
    const server = await against(echo);
    const exact = '{"type":"integer","maximum":9223372036854775807,"const":1e400}';
    await complete(server, {
      tools: [functionTool("weather", exact)],
      responseFormat: format("json_schema", { name: "n", description: "", schema: exact }),
    });
    const body = server.upstream.requests[0]?.body.toString();
    expect(body).toContain(`"parameters":${exact}`);
    expect(body).toContain(`"schema":${exact}`);
  });

  it("has no choice where there is nothing to choose from", async () => {
    const server = await against(echo);
    await complete(server, { toolChoice: choice("none"), parallelToolCalls: true });
    expect(server.bodies()[0]).not.toHaveProperty("tool_choice");
    expect(server.bodies()[0]).not.toHaveProperty("parallel_tool_calls");
  });

  it("has the answer's form", async () => {
    const server = await against(echo);
    const described = { name: "place", description: "", schema: JSON.stringify(schema) };
    await complete(server, { responseFormat: format("json_object") });
    await complete(server, {
      responseFormat: format("json_schema", { ...described, strict: true }),
    });
    await complete(server, {
      responseFormat: format("json_schema", { name: "any", description: "Any.", schema: "" }),
    });
    expect(server.bodies().map(({ response_format: it }) => it)).toEqual([
      { type: "json_object" },
      { type: "json_schema", json_schema: { name: "place", schema, strict: true } },
      { type: "json_schema", json_schema: { name: "any", description: "Any." } },
    ]);
  });

  it("has images among texts", async () => {
    const server = await against(echo);
    const url = "https://example.com/a.png";
    const parts = [
      textPart("This?"),
      imagePart(url),
      imagePart("data:image/png;base64,AAAA", "low"),
    ];
    await complete(server, { messages: [say("user", "", { parts })] });
    expect(server.bodies()[0].messages).toEqual([
      {
        role: "user",
        content: [
          { type: "text", text: "This?" },
          { type: "image_url", image_url: { url } },
          { type: "image_url", image_url: { url: "data:image/png;base64,AAAA", detail: "low" } },
        ],
      },
    ]);
  });

  it("says beside a call of Gemini's what came with it, or that nothing did", async () => {
    const signed = '{"google":{"thought_signature":"abc"}}';
    const messages = [
      say("user", "Rome?"),
      say("assistant", "", { toolCalls: [toolCall(0, "a", "weather", "", signed)] }),
      say("tool", "sunny", { toolCallId: "a" }),
      say("assistant", "", {
        toolCalls: [toolCall(0, "b", "weather", ""), toolCall(1, "c", "weather", "")],
      }),
    ];
    const sent = async (dialect: string, model: string) => {
      const server = await against(echo, { dialect, models: [model] });
      await complete(server, { messages, model });
      return server
        .bodies()[0]
        .messages.flatMap(({ tool_calls = [] }) => tool_calls)
        .map((call: { extra_content?: object; function: { arguments: string } }) => {
          expect(call.function.arguments).toBe("{}");
          return call.extra_content;
        });
    };
    const skip = { google: { thought_signature: "skip_thought_signature_validator" } };
    const kept = JSON.parse(signed);
    expect(await sent("google", "gemini-3-pro")).toEqual([kept, skip, undefined]);
    expect(await sent("google", "models/gemini-2.5-flash")).toEqual([kept, undefined, undefined]);
    expect(await sent("vllm", "gemini-3")).toEqual([kept, undefined, undefined]);
  });
});

/** Calls in the answer of a server, joined, with the reason. */
async function answered(script: Script, method: "chat" | "complete") {
  const server = await against(script);
  const call = callOf(method, chatRequest({ tools: [weather()] }));
  const pieces: ToolCall[] = [];
  let last: LLMResponse | undefined;
  const answer = server.backend.handlers[method]?.(call as never) ?? [];
  for await (const batch of answer as AsyncIterable<LLMResponse[]>) {
    for (const message of batch) {
      const [choice] = message.choices;
      pieces.push(...((choice?.delta ?? choice?.message)?.toolCalls ?? []));
      last = message;
    }
  }
  return {
    calls: joinCalls(pieces).map(({ id, function: it, extraContent }) => [
      ...[id, it?.name, it?.arguments],
      ...(extraContent ? [extraContent] : []),
    ]),
    reason: last?.choices[0]?.finishReason,
  };
}

const streaming = (...deltas: object[]) => streamOf(deltas, "tool_calls");
const made = (index: unknown, id?: string, name?: string, args?: unknown) => ({
  ...(index !== undefined && { index }),
  ...(id !== undefined && { id, type: "function" }),
  function: { ...(name !== undefined && { name }), ...(args !== undefined && { arguments: args }) },
});
const calls = (...tool_calls: object[]) => ({ tool_calls });

const two = [
  ["a", "weather", '{"city":"Rome"}'],
  ["b", "weather", '{"city":"Oslo"}'],
];

describe("streams", () => {
  it.each<[string, object[]]>([
    [
      "OpenAI, vLLM, SGLang: in pieces, by index",
      [
        { role: "assistant", content: null, ...calls(made(0, "a", "weather", "")) },
        calls(made(0, undefined, undefined, '{"city":')),
        calls(made(0, undefined, undefined, '"Rome"}')),
        calls(made(1, "b", "weather", "")),
        calls(made(1, undefined, undefined, '{"city":"Oslo"}')),
      ],
    ],
    [
      "pieces of two calls in turns",
      [
        calls(made(0, "a", "weather", ""), made(1, "b", "weather", "")),
        calls(made(1, undefined, undefined, '{"city":'), made(0, undefined, undefined, '{"city":')),
        calls(made(0, undefined, undefined, '"Rome"}'), made(1, undefined, undefined, '"Oslo"}')),
      ],
    ],
    [
      "id and name in each piece",
      [
        calls(made(0, "a", "weather", '{"city":')),
        calls(made(0, "a", "weather", '"Rome"}')),
        calls(made(1, "b", "weather", '{"city":"Oslo"}')),
      ],
    ],
    [
      "the name in each piece, and no id",
      [
        calls(made(0, "a", "weather", '{"city":')),
        calls(made(0, undefined, "weather", '"Rome"}')),
        calls(made(1, "b", "weather", '{"city":"Oslo"}')),
      ],
    ],
    [
      "a piece without an index ahead of the name",
      [
        calls(made(undefined, "a")),
        calls(made(undefined, undefined, undefined, "")),
        calls(made(undefined, "a", "weather", '{"city":"Rome"}')),
        calls(made(undefined, "b", "weather", '{"city":"Oslo"}')),
      ],
    ],
    [
      "older Ollama, Google: whole, without an index",
      [
        calls(made(undefined, "a", "weather", '{"city":"Rome"}')),
        calls(made(undefined, "b", "weather", '{"city":"Oslo"}')),
      ],
    ],
    [
      "Google: in pieces, without an index",
      [
        calls(made(undefined, "a", "weather", '{"city":')),
        calls(made(undefined, undefined, undefined, '"Rome"}')),
        calls(made(undefined, "b", "weather", '{"city":"Oslo"}')),
      ],
    ],
    [
      "an index that is none",
      [
        calls(made({}, "a", "weather", '{"city":')),
        calls(made({}, undefined, undefined, '"Rome"}')),
        calls(made("x".repeat(40), "b", "weather", '{"city":')),
        calls(made("y".repeat(40), undefined, undefined, '"Oslo"}')),
      ],
    ],
    [
      "proxies before Gemini: whole, with the index 0 for all",
      [
        calls(made(0, "a", "weather", '{"city":"Rome"}')),
        calls(made(0, "b", "weather", '{"city":"Oslo"}')),
      ],
    ],
    [
      "arguments that are an object",
      [calls(made(0, "a", "weather", { city: "Rome" }), made(1, "b", "weather", { city: "Oslo" }))],
    ],
  ])("are read: %s", async (_, deltas) => {
    expect(await answered(streaming(...deltas), "chat")).toEqual({
      calls: two,
      reason: "tool_calls",
    });
  });

  it("are read where each chunk has text and a piece of a call", async () => {
    const { calls: read } = await answered(
      streaming(
        { content: "a", ...calls(made(0, "a", "weather", "")) },
        ...["b", "c", "d"].map((content) => ({
          content,
          ...calls(made(0, undefined, undefined, "1")),
        })),
      ),
      "chat",
    );
    expect(read).toEqual([["a", "weather", "111"]]);
  });

  it("are read with a signature behind its call", async () => {
    const extra_content = { google: { thought_signature: "abc" } };
    const { calls: read } = await answered(
      streaming(calls(made(undefined, "a", "weather", "{}")), calls({ extra_content })),
      "chat",
    );
    expect(read).toEqual([["a", "weather", "{}", JSON.stringify(extra_content)]]);
  });

  it("are read where text comes with calls, and behind them", async () => {
    const server = await against(
      streaming(
        { content: "Let me look. " },
        { content: "Now: ", ...calls(made(0, "a", "weather", "{}")) },
        { content: "done." },
      ),
    );
    let text = "";
    let called = 0;
    const call = callOf("chat", chatRequest({ tools: [weather()] }));
    for await (const batch of server.backend.handlers.chat?.(call) ?? []) {
      for (const { choices } of batch) {
        text += choices[0]?.delta?.content;
        called += choices[0]?.delta?.toolCalls.length ?? 0;
      }
    }
    expect([text, called]).toEqual(["Let me look. Now: done.", 1]);
  });
});

describe("whole answers", () => {
  const whole =
    (tool_calls: unknown): Script =>
    (exchange) =>
      exchange.sendJson(200, {
        ...{ id: "1", created: 1, model: "m" },
        choices: [
          {
            index: 0,
            message: { role: "assistant", content: null, tool_calls },
            finish_reason: "tool_calls",
          },
        ],
      });
  const both = [
    made(undefined, "a", "weather", '{"city":"Rome"}'),
    made(undefined, "b", "weather", { city: "Oslo" }),
  ];

  it.each(["chat", "complete"] as const)("are read, for %s", async (method) => {
    expect(await answered(whole(both), method)).toEqual({ calls: two, reason: "tool_calls" });
  });

  it.each([null, {}, [null], [{ id: "a", type: "custom", custom: { name: "f" } }]])(
    "have no calls in %j",
    async (none) => {
      expect((await answered(whole(none), "complete")).calls).toEqual([]);
    },
  );

  it("are read out of a stream that nobody asked for", async () => {
    const deltas = [
      calls(made(0, "a", "weather", '{"city":')),
      calls(made(0, undefined, undefined, '"Rome"}')),
      calls(made(1, "b", "weather", '{"city":"Oslo"}')),
    ];
    expect(await answered(streaming(...deltas), "complete")).toEqual({
      calls: two,
      reason: "tool_calls",
    });
  });
});

describe("refusals", () => {
  const refusing =
    (
      status: number,
      error: unknown,
      isRefused = (body: Record<string, unknown>) => "tools" in body,
    ): Script =>
    (exchange) =>
      isRefused(exchange.json()) ? exchange.sendJson(status, { error }) : echo(exchange);

  it.each<[string, number, unknown]>([
    ["Ollama", 400, { message: "registry.ollama.ai/library/gemma:latest does not support tools" }],
    ["Ollama's own API", 400, "registry.ollama.ai/library/gemma:latest does not support tools"],
    [
      "vLLM",
      400,
      {
        message:
          '"auto" tool choice requires --enable-auto-tool-choice and --tool-call-parser to be set',
        type: "BadRequestError",
      },
    ],
    ["llama.cpp", 500, { message: "tools param requires --jinja flag", type: "server_error" }],
    ["Groq", 400, { message: "`tool calling` is not supported with this model" }],
    ["OpenRouter", 404, { message: "No endpoints found that support tool use.", code: 404 }],
  ])("of tools, in the words of %s, are told once and remembered", async (_, status, error) => {
    const server = await against(refusing(status, error));
    const offered = { tools: [weather()], messages: conversation };
    const call = await chat(server, offered);
    expect([...call.warnings]).toEqual(["tools: not supported by this model, ignored"]);
    const [first, second] = server.bodies();
    expect(first).toHaveProperty("tools");
    expect(second).not.toHaveProperty("tools");
    expect(second.messages).toEqual([
      { role: "user", content: "Rome?" },
      { role: "assistant", content: "" },
      { role: "user", content: "sunny" },
    ]);
    expect(server.backend.models()[0]?.supports).not.toContain("tools");
    await chat(server, offered);
    expect(server.bodies()).toHaveLength(3);
  });

  it("of tools, and then of messages that say nothing without their calls, are both heeded", async () => {
    const blank = ({ content, tool_calls }: { content: string | null; tool_calls?: object }) =>
      !content && !tool_calls;
    const server = await against((exchange) => {
      const { tools, messages } = exchange.json();
      const error = tools
        ? { message: "gemma does not support tools" }
        : messages.some(blank) && { message: "messages: text content blocks must be non-empty" };
      return error ? exchange.sendJson(400, { error }) : echo(exchange);
    });
    await chat(server, { tools: [weather()], messages: conversation });
    expect(server.bodies().map(({ messages }) => messages.length)).toEqual([3, 3, 2]);
  });

  it.each([
    ["required", choice("required")],
    ["function", choice("function", "weather")],
  ])(
    "of tools that must be called are the caller's to hear, and another target may take them: %s",
    async (_, toolChoice) => {
      const said = "gemma does not support tools";
      const server = await against(refusing(400, { message: said }));
      const forced = { tools: [weather()], toolChoice };
      await expect(chat(server, forced)).rejects.toMatchObject({
        code: "unsupported_parameter",
        param: "tools",
        retry: "elsewhere",
      });
      expect(server.backend.models()[0]?.supports).toContain("tools");
    },
  );

  it.each([
    "Invalid schema for function 'weather': unsupported keyword 'foo' in tools[0].function.parameters",
    "tools[0].function.name: string does not match pattern",
    "Unknown parameter: 'tools[0].strict'.",
  ])("of one tool say nothing of others: %s", async (message) => {
    const server = await against(refusing(400, { message, param: "tools" }));
    await expect(chat(server, { tools: [weather()] })).rejects.toMatchObject({
      code: "invalid_value",
    });
    expect(server.bodies()).toHaveLength(1);
    expect(server.backend.models()[0]?.supports).toContain("tools");
  });

  it("of parallel_tool_calls are told: it tunes", async () => {
    const message =
      "Unsupported parameter: 'parallel_tool_calls' is not supported with this model.";
    const server = await against(
      refusing(400, { message }, (body) => "parallel_tool_calls" in body),
    );
    const call = await chat(server, { tools: [weather()], parallelToolCalls: false });
    expect([...call.warnings]).toEqual([
      "parallel_tool_calls: not supported by this model, ignored",
    ]);
    expect(server.bodies()[1]).toHaveProperty("tools");
    expect(server.backend.models()[0]?.supports).not.toContain("parallel_tool_calls");
  });

  it("of the answer's form name it, and another target may take it", async () => {
    const message = "This response_format type is unavailable now";
    const server = await against(refusing(400, { message }, (body) => "response_format" in body));
    await expect(chat(server, { responseFormat: format("json_object") })).rejects.toMatchObject({
      code: "unsupported_parameter",
      param: "response_format",
      retry: "elsewhere",
    });
  });

  it.each<[string, number, unknown]>([
    [
      "OpenAI",
      400,
      { message: "Invalid content type. image_url is only supported by certain models." },
    ],
    [
      "DeepSeek",
      400,
      {
        message:
          "Failed to deserialize the JSON body into the target type: messages[0]: unknown variant `image_url`, expected `text`",
      },
    ],
    ["vLLM", 400, { message: "At most 0 image(s) may be provided in one prompt." }],
    [
      "llama.cpp",
      500,
      {
        message:
          "image input is not supported - hint: if this is unexpected, you may need to provide the mmproj",
      },
    ],
    ["OpenRouter", 404, { message: "No endpoints found that support image input", code: 404 }],
  ])(
    "of images, in the words of %s, name them, and another target may take them",
    async (_, status, error) => {
      const server = await against((exchange) => exchange.sendJson(status, { error }));
      const messages = [say("user", "", { parts: [imagePart("https://example.com/a.png")] })];
      await expect(chat(server, { messages })).rejects.toMatchObject({
        code: "unsupported_parameter",
        param: "image_url",
        retry: "elsewhere",
      });
      await expect(chat(server)).rejects.not.toMatchObject({ code: "unsupported_parameter" });
    },
  );
});
