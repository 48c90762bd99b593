/** Ids of calls that a model does not take: conversations that other models began. */
import { describe, expect, it } from "vitest";
import type { LLMMessage } from "../../gen/lintel/v1/chat_pb.js";
import { callIds, hasOtherIds, shortIds } from "../../src/backends/call-ids.js";
import { refusedField } from "../../src/backends/completions/refusals/refusal.js";
import { toolCall } from "../../src/core/tool-calls.js";
import { say } from "../support/messages.js";
import { bodies } from "./ai-sdk-calls.js";
import { compatibleAt } from "./ai-sdk-subject.js";
import { backendFor, chatRequest, echo } from "./openai-subject.js";
import { opened, serve } from "./serve.js";
import { callOf } from "./subject.js";
import type { Script } from "./upstream.js";

const called = (...ids: string[]) =>
  say("assistant", "", { toolCalls: ids.map((id, i) => toolCall(i, id, "get_time", "{}")) });
const result = (toolCallId: string) => say("tool", "ten", { toolCallId });

/** Two calls at once, and then one more. */
const conversation = (...[a, b, c]: [string, string, string]): LLMMessage[] => [
  say("user", "Hello"),
  called(a, b),
  result(b),
  result(a),
  called(c),
  result(c),
];

const odd = conversation("toolu_01A", "functions.get_time:1", "call_0fypS1hVX");
const mistral = "Tool call id was toolu_01A but must be a-z, A-Z, 0-9, with a length of 9.";

/** The ids in a request, as its messages have them. */
const idsIn = (body: { messages: { tool_calls?: { id: string }[]; tool_call_id?: string }[] }) =>
  body.messages.flatMap(({ tool_calls = [], tool_call_id }) => [
    ...tool_calls.map(({ id }) => id),
    ...(tool_call_id === undefined ? [] : [tool_call_id]),
  ]);

/** Mistral's check, in an answer of this status. */
const checking =
  (status = 400, message = mistral): Script =>
  (exchange) =>
    idsIn(exchange.json()).every((id) => /^[A-Za-z0-9]{9}$/.test(id))
      ? echo(exchange)
      : exchange.sendJson(status, {
          object: "error",
          message,
          type: "invalid_function_call",
          code: "3280",
        });

const own = idsIn({
  messages: [
    { tool_calls: [{ id: "toolu_01A" }, { id: "functions.get_time:1" }] },
    ...["functions.get_time:1", "toolu_01A"].map((tool_call_id) => ({ tool_call_id })),
    { tool_calls: [{ id: "call_0fypS1hVX" }] },
    { tool_call_id: "call_0fypS1hVX" },
  ],
});
const short = ["call00000", "call00001", "call00001", "call00000", "call00002", "call00002"];

const kinds = [
  ["openai", (url: string) => backendFor(url)],
  ["ai-sdk", (url: string) => compatibleAt(url)],
] as const;

describe.each(kinds)("an %s backend", (_, backendAt) => {
  const ask = async (
    backend: ReturnType<(typeof kinds)[number][1]>,
    method: "chat" | "complete",
    messages: LLMMessage[],
  ) => {
    const call = callOf(method, chatRequest({ messages }));
    for await (const _ of backend.handlers[method]?.(call as never) ?? []);
    return [...call.warnings];
  };

  it.each(["chat", "complete"] as const)(
    "asks again with ids that are taken, and from then on at once: %s",
    async (method) => {
      const server = await serve(checking());
      const backend = opened(backendAt(server.url));
      expect(await ask(backend, method, odd)).toEqual([]);
      await ask(backend, method, odd);
      expect(bodies(server).map(idsIn)).toEqual([own, short, short]);
    },
  );

  it("leaves ids alone that are taken", async () => {
    const server = await serve(checking());
    const backend = opened(backendAt(server.url));
    const theirs = conversation("aB3dE6gH9", "000000001", "Zz0Zz0Zz0");
    await ask(backend, "chat", theirs);
    expect(new Set(bodies(server).flatMap(idsIn))).toEqual(
      new Set(["aB3dE6gH9", "000000001", "Zz0Zz0Zz0"]),
    );
  });

  it("tells of a failure that other ids do not mend", async () => {
    const server = await serve((exchange) =>
      exchange.sendJson(400, { error: { message: mistral } }),
    );
    const backend = opened(backendAt(server.url));
    await expect(ask(backend, "chat", odd)).rejects.toMatchObject({ code: "invalid_value" });
    expect(bodies(server).map(idsIn)).toEqual([own, short]);
    await expect(ask(backend, "chat", [say("user", "Hi")])).rejects.toMatchObject({
      code: "invalid_value",
    });
    expect(bodies(server)).toHaveLength(3);
  });
});

it.each([404, 422, 500])("a server that says so with %s is understood", async (status) => {
  const server = await serve(
    checking(status, "Tool call IDs should be alphanumeric strings with length 9!"),
  );
  const backend = opened(backendFor(server.url));
  const call = callOf("chat", chatRequest({ messages: odd }));
  for await (const _ of backend.handlers.chat?.(call) ?? []);
  expect(bodies(server).map(idsIn)).toEqual([own, short]);
});

describe("refusals", () => {
  const fieldIn = (message: string) =>
    refusedField(400, JSON.stringify({ error: { message } }), ["temperature", callIds]);

  it.each([
    mistral,
    "Tool call IDs should be alphanumeric strings with length 9!",
    "messages.1.content.0.tool_use.id: String should match pattern '^[a-zA-Z0-9_-]+$'",
    "messages.2.content.0.tool_result.tool_use_id: String should match pattern '^[a-zA-Z0-9_-]+$'",
    "Invalid 'messages[1].tool_calls[0].id': string too long. Expected a string with maximum length 40, but got a string with length 52 instead.",
    "Invalid 'input[3].call_id': string too long. Expected a string with maximum length 64, but got a string with length 70 instead.",
    "1 validation error detected: Value at 'messages.1.member.content.1.member.toolUse.toolUseId' failed to satisfy constraint: Member must satisfy regular expression pattern: [a-zA-Z0-9_-]+",
  ])("%s", (message) => expect(fieldIn(message)).toBe(callIds));

  it.each([
    "An assistant message with 'tool_calls' must be followed by tool messages responding to each 'tool_call_id'. The following tool_call_ids did not have response messages: call_x",
    "messages with role 'tool' must be a response to a preceding message with 'tool_calls'.",
    "messages.1.content.0: unexpected `tool_use_id` found in `tool_result` blocks: toolu_1",
    "Invalid 'tools[0].function.name': string does not match pattern.",
  ])("but not %s", (message) => expect(fieldIn(message)).toBeUndefined());
});

it("ids are of nine letters and digits, one for each, and the same for the same", () => {
  const idOf = shortIds();
  const ids = Array.from({ length: 1200 }, (_, i) => idOf(`id ${i}`));
  expect(new Set(ids).size).toBe(1200);
  for (const id of ids) expect(id).toMatch(/^[A-Za-z0-9]{9}$/);
  expect(idOf("id 7")).toBe(ids[7]);
  expect(hasOtherIds([say("user", "Hi"), called("abcdefgh1"), result("abcdefgh1")])).toBe(false);
  expect([hasOtherIds([called("abcdefgh1", "a")]), hasOtherIds([result("a")])]).toEqual([
    true,
    true,
  ]);
});
