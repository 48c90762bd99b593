/** Answers whose calls of tools have no end. */
import { expect, it } from "vitest";
import type { ToolCall } from "../../gen/lintel/v1/chat_pb.js";
import { messageChoice } from "../../src/core/chat-messages.js";
import { toolCall } from "../../src/core/tool-calls.js";
import { coreOf, run } from "../support/core.js";
import { hello } from "../support/routing.js";
import { callsTools, piece, scripted } from "../support/scripted.js";
import { models } from "./chatting.js";

const tooLarge = {
  code: "upstream_failed",
  message: "the model server sent an answer that is too large",
};

it.each([
  ["calls that get no name", (text: string) => toolCall(0, "", "", text)],
  ["ids", (text: string, at: number) => toolCall(at, text + at, "f", "{}")],
  [
    "extra content",
    (text: string) => toolCall(0, "a", "f", "", JSON.stringify({ signature: text })),
  ],
])("an answer whose %s do not end is ended, and its server is told", async (_, said) => {
  let ended = false;
  let sent = 0;
  const text = "x".repeat(1024 * 1024);
  async function* chat() {
    try {
      for (; sent < 200; sent++) yield* callsTools([said(text, sent)])({} as never);
    } finally {
      ended = true;
    }
  }
  const asked = run(coreOf([scripted({ chat }, models)]), "chat", hello);
  await expect(asked).rejects.toMatchObject(tooLarge);
  expect(sent).toBeLessThan(70);
  expect(ended).toBe(true);
});

/** What comes of an answer with so many calls, a step for each list of them. */
const answered = (method: "chat" | "complete", ...steps: ToolCall[][]) => {
  const whole = {
    ...piece(""),
    choices: [messageChoice("", "tool_calls", steps.flat())],
  };
  async function* complete() {
    yield [whole];
  }
  const handlers = { chat: callsTools(...steps), complete };
  return run(coreOf([scripted(handlers, models)]), method, hello);
};

const calls = (count: number, from = 0) =>
  Array.from({ length: count }, (_, i) => toolCall(from + i, "", "f", "{}"));

it.each(["chat", "complete"] as const)(
  "an answer has as many calls of tools as a request can show again, and no more: %s",
  async (method) => {
    const told = await answered(method, calls(10_000));
    expect(told.length).toBeGreaterThan(0);
    await expect(answered(method, calls(10_001))).rejects.toMatchObject(tooLarge);
  },
);

it("counts calls that come one by one", async () => {
  const one = Array.from({ length: 10_002 }, (_, i) => calls(1, i));
  await expect(answered("chat", ...one)).rejects.toMatchObject(tooLarge);
});
