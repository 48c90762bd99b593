/** Answers of Anthropic's Messages API. */
import { describe, expect, test } from "vitest";
import type { LLMRequest, ToolCall } from "../../gen/lintel/v1/chat_pb.js";
import { deltaChoice } from "../../src/core/chat-messages.js";
import { LintelError } from "../../src/core/errors.js";
import { toolCall } from "../../src/core/tool-calls.js";
import { chatModel, imageModel } from "../support/models.js";
import { breaksAfter, callsTools, piece, says, scripted, thought } from "../support/scripted.js";
import { adaptive, type Chat, streamed, usage, whole } from "./messages-asked.js";
import { hello, path } from "./messages-request.js";
import { json, serve } from "./serve.js";

describe("a text", () => {
  const message = {
    ...{ id: expect.stringMatching(/^msg_[\w-]{24}$/), type: "message", role: "assistant" },
    ...{ model: "chat-1", content: [{ type: "text", text: 'Hel"lo' }] },
    ...{ stop_reason: "end_turn", stop_sequence: null, usage: usage(7, 2) },
  };

  test("whole", async () => {
    expect(await whole(says("Hel", '"lo'))).toEqual(message);
  });

  test("in a stream", async () => {
    const { events, message: made } = await streamed(says("Hel", '"lo'));
    expect(made).toEqual(message);
    expect(events.map(({ type }) => type)).toEqual([
      ...["message_start", "content_block_start", "content_block_delta", "content_block_delta"],
      ...["content_block_stop", "message_delta", "message_stop"],
    ]);
    expect(events[0].message).toMatchObject({ content: [], stop_reason: null, usage: usage(0, 0) });
  });

  test("that is empty is one all the same: clients look for it", async () => {
    const content = [{ type: "text", text: "" }];
    expect(await whole(says())).toMatchObject({ content });
    expect((await streamed(says())).message).toMatchObject({ content });
  });

  test.each([
    ["length", "max_tokens"],
    ["content_filter", "refusal"],
    ["stop", "end_turn"],
  ])("ends with a reason: %s", async (reason, theirs) => {
    const chat = async function* () {
      yield [piece("Hi", reason, [1, 1])];
    };
    expect((await whole(chat)).stop_reason).toBe(theirs);
    expect((await streamed(chat)).message.stop_reason).toBe(theirs);
  });

  test("has warnings and estimates beside it", async () => {
    const chat = async function* () {
      yield [{ ...piece("Hi", "stop"), warnings: ["so it is"] }];
    };
    const said = {
      usage_estimated: true,
      warnings: ["mcp_servers: not supported, ignored", "so it is"],
    };
    expect(await whole(chat, { mcp_servers: [{}] })).toMatchObject(said);
    const { events } = await streamed(chat, { mcp_servers: [{}] });
    expect(events.at(-2)).toMatchObject({ type: "message_delta", ...said });
  });
});

describe("calls of tools", () => {
  const pieces = [
    [toolCall(0, "a", "weather", "", '{"google":{"thought_signature":"s"}}')],
    [toolCall(0, "", "", '{"city":'), toolCall(1, "b", "weather", '{"city":"Oslo"}')],
    [toolCall(0, "", "", '"Rome"}')],
  ];
  const chat: Chat = async function* (call) {
    yield [piece("Let me look.")];
    yield* callsTools(...pieces)(call);
  };
  const use = (id: string, city: string, more: object = {}) => ({
    ...{ type: "tool_use", id, name: "weather", input: { city }, ...more },
  });
  const content = [
    { type: "text", text: "Let me look." },
    use("a", "Rome", { extra_content: { google: { thought_signature: "s" } } }),
    use("b", "Oslo"),
  ];
  const tools = [{ name: "weather", input_schema: { type: "object" } }];

  const called = (call: ToolCall) => ({
    ...piece(""),
    choices: [deltaChoice("", "", [call])],
  });
  /** Where blocks begin and end. */
  const bounds = (events: Awaited<ReturnType<typeof streamed>>["events"]) =>
    events.flatMap(({ type, index }) =>
      type.startsWith("content_block_st") ? [`${type.slice(14)} ${index}`] : [],
    );

  test("are blocks, whole and in pieces", async () => {
    expect(await whole(chat, { tools })).toMatchObject({ content, stop_reason: "tool_use" });
    const { message, events } = await streamed(chat, { tools });
    expect(message).toMatchObject({ content, stop_reason: "tool_use" });
    // One is over when the next begins, also where pieces of two come in turns.
    expect(bounds(events)).toEqual([
      ...["start 0", "stop 0", "start 1", "stop 1", "start 2", "stop 2"],
    ]);
  });

  test("are over when a text follows, or thoughts, and wait for nothing else than each other", async () => {
    const late = '[{"type":"reasoning.encrypted","data":"x"}]';
    const chat: Chat = async function* () {
      const first = toolCall(0, "a", "weather", "");
      const second = toolCall(1, "b", "weather", '{"city":"Oslo"}');
      const third = toolCall(2, "c", "weather", '{"city":"Rome"}');
      yield* [[called(first)], [thought("", late), called(second)], [piece("And")]];
      yield [called(third), piece("", "tool_calls")];
    };
    const { message, events } = await streamed(chat, { tools, ...adaptive });
    const [a, b, text, c, thinking] = message.content;
    expect(message.content).toHaveLength(5);
    expect([a, b, text, c]).toEqual([
      use("a", "", { input: {} }),
      use("b", "Oslo"),
      { type: "text", text: "And" },
      use("c", "Rome"),
    ]);
    expect(Buffer.from(thinking.signature, "base64").toString()).toBe(late);
    const each = message.content.flatMap((_: unknown, i: number) => [`start ${i}`, `stop ${i}`]);
    expect(bounds(events)).toEqual(each);
  });

  test("have all of their arguments in one block, also where a text comes in the middle, or thoughts", async () => {
    const chat: Chat = async function* () {
      yield [piece("a"), called(toolCall(0, "a", "weather", ""))];
      yield [piece("b"), called(toolCall(0, "", "", '{"city":'))];
      yield [
        piece("c"),
        called(toolCall(1, "b", "weather", '{"city":')),
        piece(" d"),
        thought("Hm."),
      ];
      yield [
        called(toolCall(0, "", "", '"Rome"}')),
        piece("e"),
        called(toolCall(1, "", "", '"Oslo"}')),
      ];
      yield [piece("f"), called(toolCall(2, "c", "weather", '{"city":')), piece("g")];
      yield [called(toolCall(2, "", "", '"Rome"}')), piece("", "tool_calls")];
    };
    const { message, events } = await streamed(chat, { tools, ...adaptive });
    expect(message.content.map((it: { type: string }) => it.type)).toEqual([
      ...["text", "tool_use", "tool_use", "text", "thinking", "text", "tool_use", "text"],
    ]);
    expect([message.content[1], message.content[2]]).toEqual([use("a", "Rome"), use("b", "Oslo")]);
    const texts = message.content.map(
      (it: { text?: string; thinking?: string }) => it.text ?? it.thinking,
    );
    expect(texts.filter(Boolean)).toEqual(["a", "bc d", "Hm.", "ef", "g"]);
    const each = message.content.flatMap((_: unknown, i: number) => [`start ${i}`, `stop ${i}`]);
    expect(bounds(events)).toEqual(each);
  });

  test("come back with what their server told late, though blocks have no place for it there", async () => {
    const signed = '{"google":{"thought_signature":"s"}}';
    const chat = callsTools(
      [toolCall(0, "a", "weather", '{"city":"Rome"}')],
      [toolCall(1, "b", "weather", '{"city":')],
      [toolCall(0, "", "", "", signed), toolCall(1, "", "", '"Oslo"}', '{"x":1}')],
    );
    const { message } = await streamed(chat, { tools });
    expect(message.content.slice(0, 2)).toEqual([use("a", "Rome"), use("b", "Oslo")]);
    expect(message.content).toHaveLength(3);
    const backend = scripted({ chat: says("Hi") });
    const server = await serve(backend);
    const turn = { role: "assistant", content: message.content };
    const results = ["a", "b"].map((id) => ({ type: "tool_result", tool_use_id: id }));
    const messages = [...hello().messages, turn, { role: "user", content: results }];
    expect((await server.post(path, { ...hello({ tools }), messages })).status).toBe(200);
    const [, said] = (backend.asked[0] as LLMRequest).messages;
    expect(said?.reasoningContent ?? "").toBe("");
    expect(said?.reasoningDetails ?? "").toBe("");
    expect(said?.toolCalls).toEqual([
      toolCall(0, "a", "weather", '{"city":"Rome"}', signed),
      toolCall(0, "b", "weather", '{"city":"Oslo"}', '{"x":1}'),
    ]);
  });

  test("have arguments as they were written, in one line", async () => {
    const written = '{"id": 12345678901234567890,\r\n "b": 1.0, "1": "\\n\u2028"}';
    const server = await serve(scripted({ chat: callsTools([toolCall(0, "a", "f", written)]) }));
    const answer = await server.post(path, hello({ tools }));
    const line = '{"id": 12345678901234567890,   "b": 1.0, "1": "\\n\\u2028"}';
    expect(await answer.text()).toContain(`"input":${line}`);
  });

  test("whose arguments are no object have them under a name", async () => {
    const broken = callsTools([toolCall(0, "a", "weather", '{"city":')]);
    expect((await whole(broken, { tools })).content[0].input).toEqual({
      rawInvalidInput: '{"city":',
    });
  });
});

describe("errors", () => {
  test.each([
    [401, "authentication_error", {}, { authorization: "" }],
    [404, "not_found_error", { model: "nope" }, {}],
    [422, "invalid_request_error", { max_tokens: 0 }, {}],
  ])("%i has Anthropic's form", async (status, type, more, headers) => {
    const server = await serve(scripted({ chat: says("Hi") }));
    const answer = await server.post(path, hello(more), headers);
    expect(answer.status).toBe(status);
    const { error, ...body } = await json(answer);
    expect(body).toMatchObject({ type: "error", request_id: answer.headers.get("x-request-id") });
    expect(error).toMatchObject({ type, message: expect.any(String), code: expect.any(String) });
  });

  test.each([
    ["rate_limited", 429, "rate_limit_error"],
    ["upstream_failed", 502, "api_error"],
    ["unavailable", 503, "overloaded_error"],
    ["timeout", 504, "timeout_error"],
  ] as const)("%s has its type, whole and in a stream", async (code, status, type) => {
    const chat = breaksAfter(new LintelError(code, "so it is"));
    const server = await serve(scripted({ chat }));
    const answer = await server.post(path, hello());
    expect(answer.status).toBe(status);
    expect((await json(answer)).error).toMatchObject({ type, code });
    const { events } = await streamed(breaksAfter(new LintelError(code, "so it is"), "Hel"));
    expect(events.at(-1)).toEqual({
      type: "error",
      error: { type, code, message: "so it is", param: null },
    });
  });

  test("of a body that is no JSON, or of another type, too", async () => {
    const server = await serve(scripted({ chat: says("Hi") }));
    const broken = await server.post(path, "{");
    expect(broken.status).toBe(400);
    expect(await json(broken)).toMatchObject({ type: "error", error: { code: "invalid_json" } });
    const other = await server.post(path, "a", { "content-type": "text/plain" });
    expect(other.status).toBe(415);
    expect((await json(other)).error.type).toBe("invalid_request_error");
  });

  test("of a body that is too large, too", async () => {
    const server = await serve(scripted({ chat: says("Hi") }), { doors: { bodyLimit: 100 } });
    const answer = await server.post(path, hello({ system: "a".repeat(100) }));
    expect(answer.status).toBe(413);
    expect((await json(answer)).error).toMatchObject({
      type: "request_too_large",
      code: "too_large",
    });
  });

  test("of a conversation that is too long say so in Anthropic's words", async () => {
    const error = new LintelError("invalid_value", "messages: 9 tokens (context_length_exceeded)");
    const server = await serve(scripted({ chat: breaksAfter(error) }));
    const answer = await server.post(path, hello());
    expect(answer.status).toBe(400);
    expect((await json(answer)).error.message).toBe(
      "prompt is too long: messages: 9 tokens (context_length_exceeded)",
    );
  });

  test("say that there is nothing else below", async () => {
    const server = await serve(scripted({ chat: says("Hi") }));
    const answer = await server.post(`${path}/batches`, hello());
    expect(answer.status).toBe(404);
    expect(await json(answer)).toMatchObject({ type: "error", error: { type: "not_found_error" } });
  });

  test.each([
    ["GET", path, 405],
    ["GET", `${path}/count_tokens`, 405],
    ["PUT", `${path}/count_tokens`, 405],
    ["GET", `${path}/batches`, 404],
    ["PUT", `${path}/batches`, 404],
  ])("say so of another method, too: %s %s is a %i", async (method, at, status) => {
    const { url } = await serve(scripted({ chat: says("Hi") }));
    const answer = await fetch(url + at, { method, headers: { "x-api-key": "me" } });
    expect([answer.status, answer.headers.get("allow")]).toEqual([
      status,
      status === 405 ? "POST" : null,
    ]);
    const code = status === 405 ? "method_not_allowed" : "not_found";
    expect(await json(answer)).toMatchObject({ type: "error", error: { code } });
  });
});

describe("keys", () => {
  const core = { auth: { mode: "none" } } as const;
  test("may come in x-api-key, and a bearer token goes before them", async () => {
    const server = await serve(scripted({ chat: says("Hi") }));
    const send = (headers: Record<string, string>) =>
      fetch(server.url + path, {
        method: "POST",
        headers: { "content-type": "application/json", ...headers },
        body: JSON.stringify(hello()),
      });
    expect((await send({})).status).toBe(401);
    expect((await send({ "x-api-key": "" })).status).toBe(401);
    expect((await send({ "x-api-key": "me" })).status).toBe(200);
    expect((await send({ "x-api-key": "me", authorization: "Basic eA==" })).status).toBe(401);
    const list = (headers: Record<string, string>) => fetch(`${server.url}/v1/models`, { headers });
    expect((await list({ "x-api-key": "me" })).status).toBe(200);
  });

  test("list models in Anthropic's form for its clients, in OpenAI's for others", async () => {
    const models = [
      chatModel("chat-1", { contextLength: 4096, maxTokens: 99 }),
      imageModel("image-1"),
    ];
    const server = await serve(scripted({ chat: says("Hi") }, models), { core });
    const anthropics = { "anthropic-version": "2023-06-01" };
    const first = {
      ...{ type: "model", id: "chat-1", display_name: "chat-1" },
      created_at: "2023-11-14T22:13:20.000Z",
      ...{ max_input_tokens: 4096, max_tokens: 99, capabilities: null, line: null },
      ...{ lifecycle: "active", deprecated_at: null, retires_at: null },
    };
    expect(await json(await server.get("/v1/models", anthropics))).toMatchObject({
      ...{
        data: [first, { id: "image-1", max_input_tokens: null, max_tokens: null }],
        has_more: false,
        first_id: "chat-1",
        last_id: "image-1",
      },
    });
    expect(await json(await server.get("/v1/models/chat-1", anthropics))).toEqual(first);
    expect(await json(await server.get("/v1/models"))).toMatchObject({ object: "list" });
    expect(await json(await server.get("/v1/models/chat-1"))).toMatchObject({ object: "model" });
  });
});
