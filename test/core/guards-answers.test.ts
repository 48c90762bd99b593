/** Guards look at what models answer, around the real core. */
import { describe, expect, test } from "vitest";
import type { Handle } from "../../src/core/call.js";
import { deltaChoice } from "../../src/core/chat-messages.js";
import type { Guard } from "../../src/core/guards/guard.js";
import { silent } from "../../src/core/log.js";
import { toolCall } from "../../src/core/tool-calls.js";
import { memoryCache } from "../../src/state/cache/memory.js";
import { callsTools, piece, says, thinks, thought } from "../support/scripted.js";
import { asked, got, letters } from "./guarded-answers.js";
import { guarded, mail, user } from "./guarding.js";

const secret = "me@example.com";
const answers = { lookAt: ["answers"] } as const satisfies Partial<Guard>;
const ways = ["complete", "chat"] as const;

describe.each(ways)("an answer by %s", (method) => {
  test("is masked in text, thoughts, their details and arguments", async () => {
    const details = JSON.stringify([{ type: "reasoning.text", text: secret, signature: "s" }]);
    const chat: Handle<"chat"> = async function* (call) {
      yield* thinks([thought(`Ask ${secret}`, details)], "Write to ", "me@exam", "ple.com.")(call);
    };
    const { ask } = guarded([mail("mask", answers)], chat);
    const { messages, warnings } = await ask(user("Hello"), method);
    const said = got(messages);
    expect(said).toMatchObject({
      content: "Write to [email].",
      thoughts: "Ask [email]",
      reason: "stop",
      // What the model said counts.
      last: { usage: { promptTokens: 7, completionTokens: 4 } },
    });
    expect(JSON.parse(said.details)).toMatchObject([{ text: "[email]", signature: "s" }]);
    const told = ['guards: "mail" replaced a part of the answer'];
    expect([warnings, said.last?.warnings]).toEqual([told, told]);
  });

  test("calls tools with masked arguments, which are JSON", async () => {
    const chat = callsTools(
      [toolCall(0, "a", "send", '{"to":"me@')],
      [toolCall(1, "b", "send", '{"to":"you"}'), toolCall(0, "", "", 'example.com"}')],
    );
    const { ask } = guarded([mail("mask", answers)], chat);
    const { messages } = await ask(user("Hello"), method);
    const { args, reason } = got(messages);
    expect([args, reason]).toEqual(['{"to":"[email]"}{"to":"you"}', "tool_calls"]);
  });

  test("calls tools with masked arguments that were cut off, whatever their escapes", async () => {
    const cut = '{"to":"me\\u0040ex\\u0061\\u006Dple.com\\u000a, \\\\u0040';
    const chat: Handle<"chat"> = async function* () {
      const call = toolCall(0, "a", "send", cut);
      yield [{ ...piece(""), choices: [deltaChoice("", "", [call])] }];
      yield [piece("", "length", [7, 3])];
    };
    // As it is meant, for who knows no escapes.
    const { guard, seen } = asked(() => ({ action: "pass" }));
    const { ask } = guarded([guard, mail("mask", answers)], chat);
    const { args } = got((await ask(user("Hello"), method)).messages);
    expect(args).toBe('{"to":"[email]\\u000a, \\\\u0040');
    expect(seen.at(-1)?.text).toBe('{"to":"me@example.com\\u000a, \\\\u0040');
  });

  test("that is blocked is an error where nothing was delivered of it", async () => {
    const lines: object[] = [];
    const log = { ...silent, info: (fields: object) => void lines.push(fields) };
    const chat = letters(secret);
    const { ask } = guarded([mail("block", answers)], chat, {}, { log });
    const { code, error, messages } = await ask(user("Hello"), method);
    expect([code, error?.message, error?.param, messages]).toEqual([
      "content_blocked",
      'the answer was blocked by the guard "mail"',
      undefined,
      [],
    ]);
    const blocked = { guard: "mail", side: "answer", result: "blocked", found: ["email"] };
    // The model took its tokens all the same.
    expect(lines).toMatchObject([{ guards: [blocked], promptTokens: expect.any(Number) }]);
    expect(JSON.stringify(lines)).not.toContain(secret);
  });

  test("is looked at by each guard as those before it left it", async () => {
    const shout = asked((texts) => ({
      action: "replace",
      found: [],
      texts: texts.map(({ text }) => text.toUpperCase()),
    }));
    const { ask } = guarded([mail("mask", answers), shout.guard], letters(`I am ${secret}, hi`));
    expect(got((await ask(user("Hello"), method)).messages).content).toBe("I AM [EMAIL], HI");
  });

  test.each(["closed", "open"] as const)("whose guard fails, %s", async (onFailure) => {
    const failing = asked(() => {
      throw new Error("boom");
    });
    const { ask } = guarded([{ ...failing.guard, onFailure }], says("Hi"));
    const { code, messages } = await ask(user("Hello"), method);
    const { content, last } = got(messages);
    expect([code, content, last?.warnings]).toEqual(
      onFailure === "closed"
        ? ["unavailable", "", undefined]
        : ["ok", "Hi", ['guards: "a" failed, not all texts were looked at']],
    );
  });

  test("that was kept is looked at anew", async () => {
    const cache = { ttlMs: 60_000, scope: "caller", maxAnswerBytes: 1000 } as const;
    const parts = { cache: memoryCache(10_000) };
    const { ask, backend } = guarded([mail("mask", answers)], says(secret), { cache }, parts);
    for (const _ of [1, 2]) {
      expect(got((await ask(user("Hello"), method)).messages).content).toBe("[email]");
    }
    expect(backend.asked).toHaveLength(1);
  });
});
