/** What stands in messages with calls, and in what tools said, that only some OpenAI-compatible servers take. */
import { describe, expect, it } from "vitest";
import type { LLMMessage } from "../../gen/lintel/v1/chat_pb.js";
import { toolCall } from "../../src/core/tool-calls.js";
import { imagePart, say, textPart } from "../support/messages.js";
import { bodies } from "./ai-sdk-calls.js";
import { backendFor, chatRequest, echo } from "./openai-subject.js";
import { opened, serve } from "./serve.js";
import { callOf } from "./subject.js";
import type { Script } from "./upstream.js";

interface Told {
  readonly role: string;
  readonly content: unknown;
}

/** A server that refuses a conversation with such a message in these words. */
const refusing =
  (isWrong: (message: Told) => boolean, error: unknown, status = 400): Script =>
  (exchange) =>
    exchange.json().messages.some(isWrong) ? exchange.sendJson(status, { error }) : echo(exchange);

async function asked(script: Script, messages: LLMMessage[], times = 2) {
  const server = await serve(script);
  const backend = opened(backendFor(server.url));
  for (let i = 0; i < times; i++) {
    const call = callOf("chat", chatRequest({ messages }));
    for await (const _ of backend.handlers.chat?.(call) ?? []);
    expect([...call.warnings]).toEqual([]);
  }
  return bodies(server).map(({ messages: told }) =>
    (told as Told[]).map(({ role, content }) => [role, content]),
  );
}

const called = (...ids: string[]) =>
  say("assistant", "", { toolCalls: ids.map((id, i) => toolCall(i, id, "f", "{}")) });

const url = "https://example.com/a.png";
const image = { type: "image_url", image_url: { url } };

describe("pictures that tools show", () => {
  const isShown = ({ role, content }: Told) => role === "tool" && typeof content !== "string";
  const seen = say("tool", "", { toolCallId: "1", parts: [textPart("a"), imagePart(url)] });
  const read = say("tool", "b", { toolCallId: "2" });
  const shown = ["tool", [{ type: "text", text: "a" }, image]];

  it.each([
    [
      "OpenAI",
      "Invalid 'messages[2]'. Image URLs are only allowed for messages with role 'user', but this message with role 'tool' contains an image URL.",
    ],
    [
      "Rust's",
      "Failed to deserialize the JSON body into the target type: messages[2]: invalid type: sequence, expected a string at line 1 column 300",
    ],
    ["others", "tool messages must contain string content"],
    ["pydantic's", "messages.2.tool.content: Input should be a valid string"],
  ])("are the user's to servers that refuse them there: %s", async (_, message) => {
    const script = refusing(isShown, { message });
    const messages = [say("user", "c"), called("1", "2"), seen, read, say("user", "d")];
    const [first, ...next] = await asked(script, messages);
    expect(first?.[2]).toEqual(shown);
    const told = [
      ["user", "c"],
      ["assistant", null],
      ["tool", "a"],
      ["tool", "b"],
      ["user", [image, { type: "text", text: "d" }]],
    ];
    expect(next).toEqual([told, told]);
  });

  it("are the user's also ahead of an assistant's message, and at the end", async () => {
    const script = refusing(isShown, { message: "tool messages must contain string content" });
    const again = say("tool", "", { toolCallId: "3", parts: [imagePart(url)] });
    const messages = [called("1"), seen, say("assistant", "c"), called("3"), again];
    const all = await asked(script, messages, 1);
    expect(all.at(-1)).toEqual([
      ["assistant", null],
      ["tool", "a"],
      ["user", [image]],
      ["assistant", "c"],
      ["assistant", null],
      ["tool", ""],
      ["user", [image]],
    ]);
  });

  it("are left where they are by servers that take them", async () => {
    const [first] = await asked(echo, [say("user", "c"), called("1"), seen], 1);
    expect(first?.[2]).toEqual(shown);
  });
});

describe("calls without a text", () => {
  const isNull = ({ content }: Told) => content === null;
  const messages = [say("user", "a"), called("1"), say("tool", "b", { toolCallId: "1" })];

  it.each([
    ["Ollama's cloud", "invalid message content type: <nil>"],
    ["LM Studio", "Invalid 'content': 'content' field must be a string or an array of objects."],
    ["JavaScript's", "Invalid value for 'content': expected a string, got null."],
    ["pydantic's", "messages.1.content: Input should be a valid string"],
    ["Rust's", "messages[1]: invalid type: null, expected a string"],
  ])("have an empty one before servers that want one: %s", async (_, message) => {
    const told = [
      ["user", "a"],
      ["assistant", ""],
      ["tool", "b"],
    ];
    const [first, ...next] = await asked(refusing(isNull, { message }), messages);
    expect(first?.[1]).toEqual(["assistant", null]);
    expect(next).toEqual([told, told]);
  });

  it("and pictures that tools show, too, where the same is said of both", async () => {
    const seen = say("tool", "", { toolCallId: "1", parts: [imagePart(url)] });
    const script = refusing(
      ({ content, role }) => content === null || (role === "tool" && typeof content !== "string"),
      {
        message: "messages.1.content: Input should be a valid string",
      },
    );
    const all = await asked(script, [say("user", "a"), called("1"), seen], 1);
    expect(all).toHaveLength(3);
    expect(all.at(-1)?.map(([role, content]) => [role, content])).toEqual([
      ["user", "a"],
      ["assistant", ""],
      ["tool", ""],
      ["user", [image]],
    ]);
  });
});

describe("arguments that are no JSON", () => {
  const broken = '{"path": "a';
  const messages = [
    say("user", "a"),
    say("assistant", "", {
      toolCalls: [toolCall(0, "1", "f", broken), toolCall(1, "2", "f", '{"n":9007199254740993}')],
    }),
    say("tool", "no such file", { toolCallId: "1" }),
    say("tool", "b", { toolCallId: "2" }),
  ];
  const argsIn = (body: { messages: { tool_calls?: { function: { arguments: string } }[] }[] }) =>
    body.messages.flatMap(({ tool_calls = [] }) =>
      tool_calls.map((call) => call.function.arguments),
    );
  const whole = ['{"rawInvalidInput":"{\\"path\\": \\"a"}', '{"n":9007199254740993}'];

  it.each([
    [
      "llama.cpp",
      500,
      "Failed to parse tool call arguments as JSON: [json.exception.parse_error.101] parse error at line 1, column 12: syntax error while parsing value - unexpected end of input",
    ],
    [
      "llama.cpp, later",
      400,
      "Failed to parse tool call arguments as JSON in messages[1] (assistant)",
    ],
    [
      "Alibaba",
      400,
      '<400> InternalError.Algo.InvalidParameter: The "function.arguments" parameter of the code model must be in JSON format.',
    ],
    ["vLLM", 400, "Unterminated string starting at: line 1 column 10 (char 9)"],
    ["vLLM, of a text", 400, "Expecting value: line 1 column 1 (char 0)"],
    ["Rust's", 400, "EOF while parsing a string at line 1 column 11"],
  ])("stand in an object before servers that refuse them: %s", async (_, status, message) => {
    const server = await serve((exchange) =>
      argsIn(exchange.json()).includes(broken)
        ? exchange.sendJson(status, { error: { message } })
        : echo(exchange),
    );
    const backend = opened(backendFor(server.url));
    for (let i = 0; i < 2; i++) {
      const call = callOf("chat", chatRequest({ messages }));
      for await (const _ of backend.handlers.chat?.(call) ?? []);
      expect([...call.warnings]).toEqual([]);
    }
    const [first, ...next] = bodies(server).map(argsIn);
    expect(first?.[0]).toBe(broken);
    expect(next).toEqual([whole, whole]);
  });

  it("are no reason to ask again where there are none", async () => {
    const server = await serve((exchange) =>
      exchange.sendJson(500, { error: { message: "Failed to parse tool call arguments as JSON" } }),
    );
    const backend = opened(backendFor(server.url));
    const asking = async () => {
      const call = callOf("chat", chatRequest({ messages: [say("user", "a"), called("1")] }));
      for await (const _ of backend.handlers.chat?.(call) ?? []);
    };
    await expect(asking()).rejects.toThrow();
    expect(bodies(server)).toHaveLength(1);
  });
});
