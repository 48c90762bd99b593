/** Marks for model servers' caches of prompts, from each door to where they are read. */
import { createClient } from "@connectrpc/connect";
import { describe, expect, test } from "vitest";
import type { LLMRequest } from "../../gen/lintel/v1/chat_pb.js";
import { ChatService } from "../../gen/lintel/v1/chat_pb.js";
import { fieldsOfChat } from "../../src/backends/ai-sdk/chat-packages.js";
import { bedrockMark } from "../../src/backends/ai-sdk/marks.js";
import { memoryCache } from "../../src/state/cache/memory.js";
import { bodies, played } from "../backends/ai-sdk-calls.js";
import { aiSdkBackend } from "../backends/ai-sdk-subject.js";
import { backendFor, echo } from "../backends/openai-subject.js";
import { opened, serve as upstream } from "../backends/serve.js";
import type { Json } from "../contract/wire.js";
import { chatModel } from "../support/models.js";
import { says, scripted } from "../support/scripted.js";
import { me, transportOf } from "./rpc-server.js";
import { hello, json, serve } from "./serve.js";

const cache_control = { type: "ephemeral" };
const hour = { type: "ephemeral", ttl: "1h" };
const text = (said: string, more: object = {}) => ({ type: "text", text: said, ...more });

/** A gateway before Anthropic, and what that is sent. */
async function anthropic() {
  const vendor = await upstream(played("anthropic/events"));
  const options = { apiKey: "sk", baseURL: `${vendor.url}/v1` };
  const models = [{ id: "chat-1" }];
  const backend = opened(aiSdkBackend({ package: "@ai-sdk/anthropic", options, models }));
  const gateway = await serve(backend);
  return { ...gateway, sent: (): Json => bodies(vendor).at(-1) };
}

/** A question of Claude Code's kind, and the next one. */
const conversation = [
  { role: "user", content: [text("Read a.txt."), text("Be quick.", { cache_control })] },
  {
    role: "assistant",
    content: [{ type: "tool_use", id: "toolu_1", name: "read", input: { path: "a.txt" } }],
  },
  {
    role: "user",
    content: [{ type: "tool_result", tool_use_id: "toolu_1", content: "A", cache_control: hour }],
  },
];
const tools = [
  { name: "read", input_schema: { type: "object", properties: {} } },
  { name: "write", input_schema: { type: "object", properties: {} }, cache_control },
];

test("of several marks of what an assistant said the last one is its own", async () => {
  const backend = scripted({ chat: says("Hi") }, [
    chatModel("chat-1", { supports: ["cache_control"] }),
  ]);
  const { post } = await serve(backend);
  const said = [text("a", { cache_control }), text("b", { cache_control: hour }), text("c")];
  const messages = [
    { role: "user", content: "Hello" },
    { role: "assistant", content: said },
    { role: "user", content: "And?" },
  ];
  const answer = await post("/v1/messages", { model: "chat-1", max_tokens: 5, messages });
  expect(answer.status).toBe(200);
  expect(backend.asked[0]).toMatchObject({
    messages: [{}, { content: "abc", cacheControl: { type: "ephemeral", ttl: "1h" } }, {}],
  });
});

describe("before Anthropic", () => {
  test("marks of the Messages API come to where they stood", async () => {
    const { post, sent } = await anthropic();
    const asked = {
      ...{ model: "chat-1", max_tokens: 100, stream: true, tools, messages: conversation },
      system: [text("You are brief."), text("The book.", { cache_control }), text("Today.")],
    };
    const answer = await post("/v1/messages", asked);
    expect([answer.status, await answer.text()]).toEqual([
      200,
      expect.not.stringContaining("warnings"),
    ]);
    const { system, messages, tools: told } = sent();
    expect(system).toEqual([
      text("You are brief.\n\nThe book.", { cache_control }),
      text("\n\nToday."),
    ]);
    expect(messages).toEqual([
      { role: "user", content: [text("Read a.txt.\n\nBe quick.", { cache_control })] },
      expect.objectContaining({ role: "assistant" }),
      {
        role: "user",
        content: [
          { type: "tool_result", tool_use_id: "toolu_1", content: "A", cache_control: hour },
        ],
      },
    ]);
    expect(told.map((tool: Json) => tool.cache_control)).toEqual([undefined, cache_control]);
  });

  test("a mark ahead of a question, and of what an assistant said, stays ahead of it", async () => {
    const { post, sent } = await anthropic();
    const messages = [
      { role: "user", content: [text("The book.", { cache_control: hour }), text("Who?")] },
      { role: "assistant", content: [text("She.", { cache_control })] },
      { role: "user", content: "Why?" },
    ];
    const asked = { model: "chat-1", max_tokens: 100, messages };
    await (await post("/v1/messages", { ...asked, stream: true })).text();
    expect(sent().messages).toEqual([
      {
        role: "user",
        content: [text("The book.", { cache_control: hour }), text("\n\nWho?")],
      },
      { role: "assistant", content: [text("She.", { cache_control })] },
      { role: "user", content: [text("Why?")] },
    ]);
  });

  test("a mark at an empty text, which Anthropic refuses, is at the end of what is ahead", async () => {
    const { post, sent } = await anthropic();
    const empty = text("", { cache_control });
    const messages = [{ role: "user", content: [empty, text("The book."), empty, text("Who?")] }];
    const asked = { model: "chat-1", max_tokens: 100, messages };
    await (await post("/v1/messages", { ...asked, stream: true })).text();
    expect(sent().messages).toEqual([
      { role: "user", content: [text("The book.", { cache_control }), text("\n\nWho?")] },
    ]);
  });

  test("the request's own mark is the conversation's end", async () => {
    const { post, sent } = await anthropic();
    const asked = { model: "chat-1", max_tokens: 100, messages: conversation.slice(0, 1) };
    const plain = [{ role: "user", content: "Hello" }];
    for (const messages of [asked.messages, plain]) {
      await (
        await post("/v1/messages", { ...asked, messages, cache_control: hour, stream: true })
      ).text();
      expect(sent().messages.at(-1).content.at(-1).cache_control).toEqual(hour);
    }
    expect(sent()).not.toHaveProperty("cache_control");
  });

  test.each(["/llm", "/v1/chat/completions"])("and those of %s, too", async (path) => {
    const { post, sent } = await anthropic();
    const asked = hello({
      model: "chat-1",
      stream: true,
      messages: [
        { role: "system", content: "Be brief.", cache_control: hour },
        { role: "user", content: [text("The book.", { cache_control }), text("Who?")] },
        {
          role: "assistant",
          content: "",
          tool_calls: [{ id: "a", type: "function", function: { name: "f", arguments: "{}" } }],
        },
        { role: "tool", tool_call_id: "a", content: [text("A", { cache_control })] },
      ],
      tools: [{ type: "function", function: { name: "f" }, cache_control: hour }],
    });
    const answer = await post(path, asked);
    expect([answer.status, answer.status === 200 || (await answer.text())]).toEqual([200, true]);
    await answer.text();
    expect(sent().system).toEqual([text("Be brief.", { cache_control: hour })]);
    const [user, , result] = sent().messages;
    expect(user.content).toEqual([text("The book.", { cache_control }), text("Who?")]);
    expect(result.content[0]).toMatchObject({ type: "tool_result", cache_control });
    expect(sent().tools[0].cache_control).toEqual(hour);
  });

  test("and those of gRPC", async () => {
    const { url, sent } = await anthropic();
    const client = createClient(ChatService, transportOf("gRPC, binary", url));
    const cacheControl = { type: "ephemeral", ttl: "" };
    const request = {
      model: "chat-1",
      messages: [
        { role: "system", content: "Be brief.", cacheControl },
        { role: "user", parts: [text("The book.", { cacheControl }), text("Who?")] },
      ],
    };
    for await (const _ of client.chat(request, me)) {
      // To its end.
    }
    expect(sent().system).toEqual([text("Be brief.", { cache_control })]);
    expect(sent().messages[0].content).toEqual([
      text("The book.", { cache_control }),
      text("Who?"),
    ]);
  });
});

test.each([
  ["openrouter", [text("The book.", { cache_control }), text("\n\nWho?")]],
  ["dashscope", [text("The book.", { cache_control }), text("\n\nWho?")]],
  ["vllm", "The book.\n\nWho?"],
  ["auto", "The book.\n\nWho?"],
])("a server of the dialect %s is told what it reads", async (dialect, content) => {
  const server = await upstream(echo);
  const gateway = await serve(opened(backendFor(server.url, { dialect })));
  const messages = [
    { role: "user", content: [text("The book.", { cache_control }), text("Who?")] },
    { role: "assistant", content: [text("She.", { cache_control: hour })] },
    { role: "user", content: "Why?" },
  ];
  const model = "m";
  await (
    await gateway.post("/v1/messages", { model, max_tokens: 9, messages, stream: true })
  ).text();
  const [first, second, third] = (bodies(server).at(-1) as Json).messages;
  expect(first.content).toEqual(content);
  const isTold = typeof content !== "string";
  expect(second.content).toEqual(isTold ? [text("She.", { cache_control: hour })] : "She.");
  expect(third.content).toBe("Why?");
});

test("a message of an assistant has its mark at the end, whatever of it is marked", async () => {
  const backend = scripted({ chat: says("Hi") }, [
    chatModel("chat-1", { supports: ["cache_control"] }),
  ]);
  const server = await serve(backend);
  const content = [text("a", { cache_control }), text("b")];
  const messages = [
    { role: "user", content },
    { role: "assistant", content: [text("a"), text("b", { cache_control })] },
    { role: "user", content: [text("a"), text("b", { cache_control })] },
  ];
  await (await server.post("/llm", hello({ messages }))).text();
  const told = (backend.asked[0] as LLMRequest).messages;
  expect(
    told.map(({ content, parts, cacheControl }) => [content, parts.length, cacheControl?.type]),
  ).toEqual([
    ["", 2, undefined],
    ["ab", 0, "ephemeral"],
    ["ab", 0, "ephemeral"],
  ]);
});

test("a model that does not read them gets none", async () => {
  const backend = scripted({ chat: says("Hi") });
  const server = await serve(backend);
  const image = { type: "image_url", image_url: { url: "data:image/png;base64,AA==" } };
  const messages = [
    { role: "system", content: "a", cache_control },
    { role: "user", content: [text("a", { cache_control }), { ...image, cache_control }] },
  ];
  const tools = [{ function: { name: "f" }, cache_control }];
  const answer = await server.post("/llm", hello({ messages, tools }));
  expect(await json(answer)).not.toHaveProperty("warnings");
  expect(JSON.stringify(backend.asked)).not.toContain("ephemeral");
});

test.each([
  ["@ai-sdk/anthropic", "claude-sonnet-4-5", true],
  ["@ai-sdk/amazon-bedrock", "us.anthropic.claude-sonnet-4-5-20250929-v1:0", true],
  ["@ai-sdk/amazon-bedrock", "amazon.nova-pro-v1:0", true],
  [
    "@ai-sdk/amazon-bedrock",
    "arn:aws:bedrock:us-east-1:1:application-inference-profile/a1b2",
    true,
  ],
  ["@ai-sdk/amazon-bedrock", "us.meta.llama3-3-70b-instruct-v1:0", false],
  ["@ai-sdk/openai", "gpt-5", false],
])("%s: %s reads them: %s", (name, model, reads) => {
  expect(fieldsOfChat(name, model, false).includes("cache_control")).toBe(reads);
});

test("Bedrock's own interface has a form of its own for them", () => {
  const mark = (ttl: string) =>
    bedrockMark({ $typeName: "lintel.v1.CacheControl", type: "ephemeral", ttl });
  expect(mark("")).toEqual({ bedrock: { cachePoint: { type: "default" } } });
  expect(mark("1h")).toEqual({ bedrock: { cachePoint: { type: "default", ttl: "1h" } } });
});

test("what is kept of answers is kept whatever the model server keeps", async () => {
  const cache = { ttlMs: 3_600_000, scope: "caller", maxAnswerBytes: 1000 } as const;
  const backend = scripted({ chat: says("Hi") });
  const server = await serve(backend, { core: { cache }, parts: { cache: memoryCache(1e6) } });
  const ask = (more: object) =>
    server.post(
      "/llm",
      hello({
        messages: [{ role: "user", content: "Hello", ...more }],
        tools: [{ function: { name: "f" }, ...more }],
      }),
    );
  await (await ask({})).text();
  const again = await ask({ cache_control });
  expect(again.headers.get("cache-status")).toMatch(/^lintel; hit/);
});

describe("a mark that is none is named where it stands", () => {
  const wrong = { type: "forever", ttl: "2h" };
  const of = (more: object) => ({ model: "chat-1", max_tokens: 9, ...more });
  const user = (content: unknown) => [{ role: "user", content }];
  test.each([
    [
      "/llm",
      { messages: [{ role: "user", content: "a", cache_control: wrong }] },
      "messages[0].cache_control",
    ],
    [
      "/llm",
      { messages: user([text("a", { cache_control: wrong })]) },
      "messages[0].content[0].cache_control",
    ],
    [
      "/llm",
      { messages: user("a"), tools: [{ function: { name: "f" }, cache_control: wrong }] },
      "tools[0].cache_control",
    ],
    [
      "/v1/messages",
      of({ messages: user([text("a"), text("b", { cache_control: wrong })]) }),
      "messages[0].content[1].cache_control",
    ],
    [
      "/v1/messages",
      of({ messages: user("a"), system: [text("s", { cache_control: wrong })] }),
      "system[0].cache_control",
    ],
    ["/v1/messages", of({ messages: user("a"), cache_control: wrong }), "cache_control"],
    [
      "/v1/messages",
      of({ messages: user("a"), tools: [{ ...tools[0], cache_control: wrong }] }),
      "tools[0].cache_control",
    ],
    [
      "/v1/messages",
      of({
        messages: [
          ...user("a"),
          { role: "assistant", content: [text("b", { cache_control: wrong })] },
        ],
      }),
      "messages[1].content[0].cache_control",
    ],
    [
      "/v1/messages",
      of({
        messages: [
          ...conversation.slice(0, 2),
          {
            role: "user",
            content: [
              {
                type: "tool_result",
                tool_use_id: "toolu_1",
                content: [text("b", { cache_control: wrong })],
              },
            ],
          },
        ],
      }),
      "messages[2].content[0].content[0].cache_control",
    ],
  ])("%s %j", async (path, body, place) => {
    const server = await serve(scripted({ chat: says("Hi") }));
    const answer = await server.post(path, body);
    expect(answer.status).toBe(422);
    const { detail } = await json(answer);
    expect(detail.map(({ loc, msg }: Json) => [loc.slice(1).join("."), msg])).toEqual([
      [`${place.replaceAll(/\[(\d+)\]/g, ".$1")}.type`, "must be ephemeral"],
      [`${place.replaceAll(/\[(\d+)\]/g, ".$1")}.ttl`, "must be one of 5m, 1h"],
    ]);
  });
});
