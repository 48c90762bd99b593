/** Tools and forms of answers on OpenAI-compatible servers: what they get, and what they answer. */
import { describe, expect, it } from "vitest";
import type { LLMResponse, ToolCall } from "../../gen/lintel/v1/chat_pb.js";
import { joinCalls, toolCall } from "../../src/core/tool-calls.js";
import { imagePart, say, textPart } from "../support/messages.js";
import { functionTool } from "../support/tools.js";
import { against, complete } from "./openai-calls.js";
import { chatRequest, echo, streamOf } from "./openai-subject.js";
import { choice, conversation, format, schema, weather } from "./openai-tools-asked.js";
import { callOf } from "./subject.js";
import type { Script } from "./upstream.js";

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
      "gpt-oss: with marks behind the name",
      [
        calls(made(0, "a", "weather<|channel|>commentary", '{"city":"Rome"}')),
        calls(made(1, "b", "weather <|constrain|>json", '{"city":"Oslo"}')),
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

  it("have names with no marks of gpt-oss' behind them, but with what else is there", async () => {
    const names = ["f<|channel|>analysis", "<|channel|>f", "f<|x"];
    const made = names.map((name) => ({ id: name, function: { name, arguments: "{}" } }));
    const { calls } = await answered(whole(made), "complete");
    expect(calls.map(([, name]) => name)).toEqual(["f", "<|channel|>f", "f<|x"]);
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
