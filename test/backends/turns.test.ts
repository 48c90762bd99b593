/** Conversations before models whose chat templates, or interfaces, take turns in one order alone. */
import { describe, expect, it } from "vitest";
import type { CacheControl, LLMMessage } from "../../gen/lintel/v1/chat_pb.js";
import { toolCall } from "../../src/core/tool-calls.js";
import { imagePart, say, textPart } from "../support/messages.js";
import { bodies } from "./ai-sdk-calls.js";
import { backendFor, chatRequest, echo } from "./openai-subject.js";
import { opened, serve } from "./serve.js";
import { callOf } from "./subject.js";
import type { Exchange, Script } from "./upstream.js";

interface Told {
  readonly role: string;
  readonly content: unknown;
  readonly tool_calls?: readonly object[];
}

/** What a template throws of these turns; `undefined`: nothing. */
type Template = (turns: readonly Told[]) => string | undefined;

/** Qwen's, since 3.5. */
const qwen: Template = (turns) =>
  turns.some(({ role }, i) => role === "system" && i > 0)
    ? "System message must be at the beginning."
    : turns.every(({ role }) => role !== "user")
      ? "No user query found in messages."
      : undefined;

/** Gemma 3's: the first system message is the beginning of the user's. */
const gemma: Template = (turns) =>
  turns
    .slice(turns[0]?.role === "system" ? 1 : 0)
    .some(({ role }, i) => (role === "user") !== (i % 2 === 0))
    ? "Conversation roles must alternate user/assistant/user/assistant/..."
    : undefined;

/** Mistral's: calls, and what came of them, don't count. */
const mistral: Template = (turns) => {
  const rest = turns.slice(turns[0]?.role === "system" ? 1 : 0);
  const counted = rest.filter(
    ({ role, tool_calls }) => role === "user" || (role === "assistant" && !tool_calls),
  );
  if (counted.some(({ role }, i) => (role === "user") !== (i % 2 === 0))) {
    return "After the optional system message, conversation roles must alternate user and assistant roles except for tool calls and results.";
  }
  return rest.some(({ role }) => role === "system")
    ? "Only user, assistant and tool roles are supported, got system."
    : undefined;
};

/** Mistral's of 2023, and Gemma 2's, in the words of the latter. */
const without =
  (words: string): Template =>
  (turns) =>
    turns.some(({ role }) => role === "system") ? words : gemma(turns);

/** An error as a server writes it. */
type Written = (words: string) => readonly [status: number, body: object];

const ofVllm: Written = (message) => [
  400,
  { error: { message, type: "BadRequestError", param: null, code: 400 } },
];

const written: Readonly<Record<string, Written>> = {
  vllm: ofVllm,
  "llama.cpp": (words) => [
    500,
    {
      error: {
        code: 500,
        message: `\n------------\nWhile executing CallExpression at line 85, column 32 in source:\n...first %}↵            {{- raise_exception('${words.slice(0, 38)}...\n                                           ^\nError: Jinja Exception: ${words}`,
        type: "server_error",
      },
    },
  ],
  "mlx-lm": (error) => [404, { error }],
  ollama: (words) => [
    500,
    { error: { message: words.toLowerCase(), type: "api_error", param: null, code: null } },
  ],
};

const strict =
  (template: Template, error = ofVllm): Script =>
  (exchange: Exchange) => {
    const words = template(exchange.json().messages);
    return words === undefined ? echo(exchange) : exchange.sendJson(...error(words));
  };

async function asked(template: Template, messages: LLMMessage[], error = ofVllm) {
  const server = await serve(strict(template, error));
  const backend = opened(backendFor(server.url));
  for (let i = 0; i < 2; i++) {
    const call = callOf("chat", chatRequest({ messages }));
    for await (const _ of backend.handlers.chat?.(call) ?? []);
    expect([...call.warnings]).toEqual([]);
  }
  return bodies(server).map(({ messages: told }) => told as Told[]);
}

/** What was told at last, and how often the server was asked until then and once more. */
async function told(...args: Parameters<typeof asked>) {
  const all = await asked(...args);
  const last = all.at(-1)?.map(({ role, content }) => [role, content]);
  expect(all.at(-2)?.map(({ role, content }) => [role, content])).toEqual(last);
  return { last, times: all.length };
}

/** As Codex has it, and Claude Code. */
const late = [
  say("system", "a"),
  say("developer", "b"),
  say("user", "c"),
  say("assistant", "d"),
  say("user", "e"),
  say("system", "f"),
];

const called = (id: string) => say("assistant", "", { toolCalls: [toolCall(0, id, "f", "{}")] });
const result = (toolCallId: string) => say("tool", "r", { toolCallId });

describe("system messages behind others", () => {
  it.each(Object.entries(written))("are one at the beginning: %s", async (_, error) => {
    expect(await told(qwen, late, error)).toEqual({
      last: [
        ["system", "a\n\nb\n\nf"],
        ["user", "c"],
        ["assistant", "d"],
        ["user", "e"],
      ],
      times: 3,
    });
  });

  it("keep their marks", async () => {
    const mark: CacheControl = { $typeName: "lintel.v1.CacheControl", type: "ephemeral", ttl: "" };
    const marked = say("system", "a", { cacheControl: mark });
    const [, last] = await asked(qwen, [marked, say("system", "b"), say("user", "c")]);
    expect(last?.[0]?.content).toEqual([
      { type: "text", text: "a", cache_control: { type: "ephemeral" } },
      { type: "text", text: "\n\nb" },
    ]);
  });

  it("are left where they are by servers that take them", async () => {
    const all = await asked(() => undefined, late);
    expect(all.map((messages) => messages.map(({ role }) => role))).toEqual([
      ["system", "system", "user", "assistant", "user", "system"],
      ["system", "system", "user", "assistant", "user", "system"],
    ]);
  });
});

describe("turns in a row", () => {
  it("are one", async () => {
    const messages = [
      ...[say("system", "a"), say("user", "b")],
      say("user", "", { parts: [textPart("c"), imagePart("https://example.com/a.png")] }),
      ...[
        say("assistant", "d", { reasoningContent: "t" }),
        say("assistant", "e"),
        say("user", "f"),
      ],
    ];
    expect(await told(gemma, messages)).toEqual({
      last: [
        ["system", "a"],
        [
          "user",
          [
            { type: "text", text: "b" },
            { type: "text", text: "\n\nc" },
            { type: "image_url", image_url: { url: "https://example.com/a.png" } },
          ],
        ],
        ["assistant", "d\n\ne"],
        ["user", "f"],
      ],
      times: 3,
    });
  });

  it("are one also of what was said before and after system messages", async () => {
    const messages = [say("user", "a"), say("system", "b"), say("system", "c")];
    expect(await told(gemma, [...messages, say("user", "d")])).toEqual({
      last: [
        ["system", "b\n\nc"],
        ["user", "a\n\nd"],
      ],
      times: 4,
    });
  });

  it("have a word of the assistant's between what a tool said and the user", async () => {
    const messages = [
      say("user", "a"),
      called("1"),
      result("1"),
      say("user", "b"),
      say("user", "c"),
    ];
    expect(await told(mistral, messages)).toEqual({
      last: [
        ["user", "a"],
        ["assistant", null],
        ["tool", "r"],
        ["assistant", "OK."],
        ["user", "b\n\nc"],
      ],
      times: 3,
    });
  });

  it("have it for Mistral's own interface", async () => {
    const messages = [say("user", "a"), called("1"), result("1"), say("user", "b")];
    const interfaced: Template = (turns) =>
      turns.some(({ role }, i) => role === "user" && turns[i - 1]?.role === "tool")
        ? "Unexpected role 'user' after role 'tool'"
        : undefined;
    const error = (message: string) =>
      [
        400,
        {
          object: "error",
          message,
          type: "invalid_request_message_order",
          param: null,
          code: "3230",
        },
      ] as const;
    const { last, times } = await told(interfaced, messages, error);
    expect(last?.map(([role]) => role)).toEqual(["user", "assistant", "tool", "assistant", "user"]);
    expect(times).toBe(3);
  });

  it("lose no call, and no thought", async () => {
    const messages = [
      ...[say("user", "a"), say("assistant", "b", { reasoningContent: "t" }), called("1")],
      ...[result("1"), say("user", "c")],
    ];
    const inRow: Template = (turns) =>
      turns.some(({ role }, i) => role === "assistant" && turns[i - 1]?.role === role)
        ? "Unexpected role 'assistant' after role 'assistant'"
        : undefined;
    const all = await asked(inRow, messages);
    expect(all.at(-1)?.slice(1, 3)).toEqual([
      {
        role: "assistant",
        content: "b",
        reasoning_content: "t",
        tool_calls: [{ id: "1", type: "function", function: { name: "f", arguments: "{}" } }],
      },
      { role: "tool", content: "r", tool_call_id: "1" },
    ]);
  });
});

describe("system messages", () => {
  it.each([
    "System role not supported",
    "Developer instruction is not enabled for models/gemma-3-27b-it",
    "Conversation roles must alternate user/assistant/user/assistant/...",
  ])("are the beginning of the user's first: %s", async (words) => {
    const messages = [
      say("system", "a"),
      say("user", "b"),
      say("assistant", "c"),
      say("user", "d"),
    ];
    expect(await told(without(words), messages)).toEqual({
      last: [
        ["user", "a\n\nb"],
        ["assistant", "c"],
        ["user", "d"],
      ],
      times: 3,
    });
  });

  it("are the user's where there is no other", async () => {
    expect(await told(qwen, [say("system", "a")])).toEqual({ last: [["user", "a"]], times: 3 });
  });
});

it("what other turns do not mend is told, and learned by nobody", async () => {
  const message = "Conversation roles must alternate user/assistant/user/assistant/...";
  const server = await serve((exchange) => exchange.sendJson(400, { error: { message } }));
  const backend = opened(backendFor(server.url));
  const ask = async () => {
    for await (const _ of backend.handlers.chat?.(
      callOf("chat", chatRequest({ messages: late })),
    ) ?? []);
  };
  await expect(ask()).rejects.toMatchObject({ code: "invalid_value" });
  const asks = server.requests.length;
  server.script(echo);
  await ask();
  expect(bodies(server).at(asks)?.messages).toHaveLength(late.length);
});
