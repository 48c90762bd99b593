/** Conversations before servers that take what came of calls directly behind these alone. */
import { describe, expect, it } from "vitest";
import type { LLMMessage } from "../../gen/lintel/v1/chat_pb.js";
import { refusedField } from "../../src/backends/completions/refusals/refusal.js";
import { partedResults } from "../../src/backends/completions/refusals/results.js";
import { toolCall } from "../../src/core/tool-calls.js";
import { say } from "../support/messages.js";
import { bodies } from "./ai-sdk-calls.js";
import { backendFor, chatRequest, echo } from "./openai-subject.js";
import { opened, serve } from "./serve.js";
import { callOf } from "./subject.js";
import type { Exchange, Script } from "./upstream.js";

interface Told {
  readonly role: string;
  readonly content: string | null;
  readonly tool_calls?: readonly { readonly id: string }[];
  readonly tool_call_id?: string;
}

const unanswered =
  "An assistant message with 'tool_calls' must be followed by tool messages responding to each 'tool_call_id'. (insufficient tool messages following tool_calls message)";
const orphaned =
  "Messages with role 'tool' must be a response to a preceding message with 'tool_calls'";

/** What OpenAI and DeepSeek say of these. */
function faultOf(turns: readonly Told[]): string | undefined {
  let open: string[] = [];
  for (const { role, tool_calls = [], tool_call_id } of turns) {
    if (role === "tool") {
      if (!open.includes(tool_call_id ?? "")) return orphaned;
      open = open.filter((id) => id !== tool_call_id);
      continue;
    }
    if (open.length > 0) return unanswered;
    open = tool_calls.map(({ id }) => id);
  }
  return open.length > 0 ? unanswered : undefined;
}

const strict: Script = (exchange: Exchange) => {
  const message = faultOf(exchange.json().messages);
  if (message === undefined) return echo(exchange);
  exchange.sendJson(400, { error: { message, type: "invalid_request_error", param: null } });
};

/** What was told at last of two requests, and how often the server was asked for both. */
async function asked(messages: LLMMessage[], script = strict) {
  const server = await serve(script);
  const backend = opened(backendFor(server.url));
  for (let i = 0; i < 2; i++) {
    const call = callOf("chat", chatRequest({ messages }));
    for await (const _ of backend.handlers.chat?.(call) ?? []);
    expect([...call.warnings]).toEqual([]);
  }
  const all = bodies(server).map(({ messages: told }) => told as Told[]);
  const last = all.at(-1)?.map(({ role, content, tool_calls, tool_call_id }) => {
    const ids = tool_calls?.map(({ id }) => id).join() ?? tool_call_id;
    return [role, ids ?? content, ...(tool_call_id === undefined ? [] : [content])];
  });
  return { last, times: all.length };
}

const calls = (...ids: string[]) =>
  say("assistant", "", { toolCalls: ids.map((id, i) => toolCall(i, id, "f", "{}")) });
const result = (toolCallId: string, content = "r") => say("tool", content, { toolCallId });

describe("what came of calls", () => {
  it("follows these, and what stood between comes behind", async () => {
    const messages = [
      ...[say("user", "a"), calls("1", "2"), say("developer", "b"), result("1")],
      ...[say("user", "c"), result("2"), say("user", "d")],
    ];
    expect(await asked(messages)).toEqual({
      last: [
        ["user", "a"],
        ["assistant", "1,2"],
        ["tool", "1", "r"],
        ["tool", "2", "r"],
        ["system", "b"],
        ["user", "c"],
        ["user", "d"],
      ],
      times: 3,
    });
  });

  it("is the last call's with its id", async () => {
    const messages = [
      ...[say("user", "a"), calls("1"), result("1", "x"), calls("1")],
      ...[say("user", "b"), result("1", "y")],
    ];
    expect((await asked(messages)).last).toEqual([
      ["user", "a"],
      ["assistant", "1"],
      ["tool", "1", "x"],
      ["assistant", "1"],
      ["tool", "1", "y"],
      ["user", "b"],
    ]);
  });

  it("is said to be nothing where the client left it out", async () => {
    const messages = [say("user", "a"), calls("1", "2"), result("2"), say("user", "b")];
    expect(await asked(messages)).toEqual({
      last: [
        ["user", "a"],
        ["assistant", "1,2"],
        ["tool", "2", "r"],
        ["tool", "1", "No result."],
        ["user", "b"],
      ],
      times: 3,
    });
  });

  it("is the user's where the client left out the call", async () => {
    expect(await asked([result("1"), say("user", "b")])).toEqual({
      last: [
        ["user", "r"],
        ["user", "b"],
      ],
      times: 3,
    });
  });

  it("is left where it is for servers that take it there", async () => {
    const messages = [say("user", "a"), calls("1"), say("user", "b"), result("1")];
    const { last, times } = await asked(messages, echo);
    expect(last?.map(([role]) => role)).toEqual(["user", "assistant", "user", "tool"]);
    expect(times).toBe(2);
  });
});

it.each([
  unanswered,
  orphaned,
  "Invalid parameter: messages with role 'tool' must be a response to a preceeding message with 'tool_calls'.",
  "Not the same number of function calls and responses",
  "Please ensure that the number of function response parts is equal to the number of function call parts of the function call turn.",
  "messages.2: `tool_use` ids were found without `tool_result` blocks immediately after: toolu_1.",
  "messages.1.content.0: unexpected `tool_use_id` found in `tool_result` blocks: toolu_1",
  "Unexpected role 'tool' after role 'user'",
])("%s", (message) => {
  const body = JSON.stringify({ error: { message } });
  expect(refusedField(400, body, ["temperature", partedResults])).toBe(partedResults);
});
