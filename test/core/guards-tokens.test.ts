/** Tokens of answers that guards look at: of what the caller does not get, none is told. */
import { describe, expect, test } from "vitest";
import type { LLMResponse, TokenLogprob } from "../../gen/lintel/v1/chat_pb.js";
import type { Handle } from "../../src/core/call.js";
import type { Guard } from "../../src/core/guards/guard.js";
import { tokenLogprob } from "../../src/core/logprobs.js";
import { toolCall } from "../../src/core/tool-calls.js";
import { piece, thought } from "../support/scripted.js";
import { saysTokens, textsOf, token, tokensIn, withTokens } from "../support/tokens.js";
import { asked as asking, got } from "./guarded-answers.js";
import { guarded, guardOf, mail, saying, user } from "./guarding.js";

const answers = { lookAt: ["answers"] } as const satisfies Partial<Guard>;
const secret = "me@example.com";
const asked = { ...user("Hello"), logprobs: true };
const both = ["chat", "complete"] as const;

const streams = (...messages: LLMResponse[]): Handle<"chat"> =>
  async function* () {
    for (const message of messages) yield [message];
    yield [piece("", "stop", [7, 3])];
  };

/** Words of a text, each with the blank ahead of it. */
const words = (text: string) => text.match(/\s*\S+/g) ?? [];

/** All that is told of tokens, in bytes, too, and of others that might have stood there. */
const toldIn = (messages: readonly object[]) =>
  JSON.stringify(
    tokensIn(messages).flatMap(({ token, bytes, topLogprobs }) => [
      ...[token, Buffer.from(bytes ?? []).toString()],
      ...topLogprobs.map((top) => [top.token, Buffer.from(top.bytes ?? []).toString()]),
    ]),
  );

test.each(both)("of a text that nothing is found in all are told: %s", async (method) => {
  const { ask } = guarded([mail("mask", answers)], saysTokens("Hel", "lo", " wör", "ld 😀"));
  const { messages, warnings } = await ask(asked, method);
  expect(textsOf(messages)).toEqual(["Hel", "lo", " wör", "ld 😀"]);
  expect(warnings).toEqual([]);
});

describe("what is masked in a stream", () => {
  test.each([
    [
      "a token each",
      [" Write", " to", " me", "@ex", "ample", ".com", ",", " soon"],
      [" Write", " to", " soon"],
    ],
    ["words", words(` Write to ${secret} soon enough`), [" Write", " to", " enough"]],
    ["letters", [...` Hi ${secret}, you`], [...` Hi `, ..." you"]],
    ["a token that has more than that", [" to me", "@example.com, and", " you"], [" you"]],
    ["a token that begins ahead of it", [" Hi, m", "e@example.com", " yes,", " yes"], [" yes"]],
  ])("has no token in %s", async (_, texts, left) => {
    const { ask } = guarded([mail("mask", answers)], saysTokens(...texts));
    const { messages, warnings } = await ask(asked, "chat");
    expect(got(messages).content).toBe(texts.join("").replace(secret, "[email]"));
    expect(textsOf(messages)).toEqual(left);
    expect(warnings).toEqual(['guards: "mail" replaced a part of the answer']);
  });

  test("has none where tokens come ahead of their text, or all at once", async () => {
    const texts = ["Hi", ",", " me", "@example", ".com", " and", " so", " you"];
    const tokens = texts.map((text) => token(text));
    const ahead = streams(
      withTokens(piece("Hi,"), ...tokens),
      piece(` ${secret} and`),
      piece(" so"),
      piece(" you"),
    );
    const { ask } = guarded([mail("mask", answers)], ahead);
    const { messages } = await ask(asked, "chat");
    expect(textsOf(messages)).toEqual(["Hi", ",", " so", " you"]);
    // Never ahead of what the guard has looked at.
    const first = messages.findIndex((it) => textsOf([it]).includes(" so"));
    expect(got(messages.slice(0, first + 1)).content).toContain(" so");
  });

  test("has none of a second guard behind the first either", async () => {
    const second = saying((texts) => ({
      action: "replace",
      found: [],
      texts: texts.map(({ text }) => text.replace("TOKEN", "[x]")),
    }));
    const guards = [mail("mask", answers), guardOf("b", second.checker, answers)];
    const texts = ["Hi ", secret, " and", " TOKEN"];
    const { ask } = guarded(guards, saysTokens(...texts));
    const { messages } = await ask(asked, "chat");
    expect(got(messages).content).toBe("Hi [email] and [x]");
    expect(toldIn(messages)).not.toMatch(/me@|TOKEN/);
  });
});

test("tokens of what is held back wait with it", async () => {
  const { ask } = guarded([mail("mask", answers)], saysTokens("One", " two", ",", " me", "@a"));
  const { messages } = await ask(asked, "chat");
  let text = "";
  let spelled = "";
  for (const message of messages as LLMResponse[]) {
    text += message.choices[0]?.delta?.content ?? "";
    spelled += textsOf([message]).join("");
    expect(text.startsWith(spelled), `${spelled} of ${text}`).toBe(true);
  }
  expect([text, spelled]).toEqual(Array(2).fill("One two, me@a"));
});

test("tokens of what was blocked are never told", async () => {
  const { ask } = guarded([mail("block", answers)], saysTokens("It", " is", " ", secret, " today"));
  const { messages, code } = await ask(asked, "chat");
  expect([code, got(messages).reason]).toEqual(["ok", "content_filter"]);
  expect(toldIn(messages)).not.toMatch(/me@|today/);
  expect(textsOf(messages)).toEqual(["It", " is", " "]);
  const whole = await ask(asked, "complete");
  expect([whole.code, whole.messages]).toEqual(["content_blocked", []]);
});

test("a whole answer of which something is masked has none", async () => {
  const { ask } = guarded([mail("mask", answers)], saysTokens("Hi ", secret));
  const { messages, warnings } = await ask(asked, "complete");
  expect(got(messages).content).toBe("Hi [email]");
  expect(tokensIn(messages)).toEqual([]);
  expect(warnings).toEqual([
    'guards: "mail" replaced a part of the answer',
    "logprobs: a guard replaced a part of the answer, left out",
  ]);
});

test.each(both)("of thoughts, calls and marks none is told: %s", async (method) => {
  const call = { ...piece("") };
  Object.assign(call.choices[0]?.delta ?? {}, {
    toolCalls: [toolCall(0, "a", "f", `{"to":"${secret}"}`)],
  });
  const chat = streams(
    withTokens(thought(`I write to ${secret}.`), token("I write to"), token(` ${secret}.`)),
    withTokens(piece("Done"), token("</think>"), token("Done")),
    withTokens(call, token('{"to":"'), token(secret), token('"}')),
  );
  const { ask } = guarded([mail("mask", answers)], chat);
  const tools = [{ type: "function", function: { name: "f" } }];
  const { messages } = await ask({ ...asked, tools }, method);
  expect(got(messages)).toMatchObject({
    thoughts: "I write to [email].",
    args: '{"to":"[email]"}',
  });
  expect(textsOf(messages)).toEqual(["Done"]);
});

test.each(both)(
  "others that might have stood there are not told, which nobody looked at: %s",
  async (method) => {
    const likeliest = token("Hi", -0.1, ["Hi", -0.1], [secret, -2]);
    const { ask } = guarded([mail("mask", answers)], streams(withTokens(piece("Hi"), likeliest)));
    const { messages, warnings } = await ask({ ...asked, topLogprobs: 2 }, method);
    expect(tokensIn(messages)).toMatchObject([{ token: "Hi", topLogprobs: [{ token: "Hi" }] }]);
    expect(toldIn(messages)).not.toContain(secret);
    expect(warnings).toEqual([
      "top_logprobs: no guard has looked at other tokens than the answer's, left out",
    ]);
  },
);

test.each(both)("a token whose bytes are others than its text is none: %s", async (method) => {
  const lies: TokenLogprob[] = [
    tokenLogprob(secret, -1, Buffer.from("Hi"), []),
    tokenLogprob(secret, -1, Buffer.alloc(0), []),
  ];
  const { ask } = guarded([mail("mask", answers)], streams(withTokens(piece("Hi"), ...lies)));
  const { messages, warnings } = await ask(asked, method);
  expect([got(messages).content, tokensIn(messages)]).toEqual(["Hi", []]);
  expect(warnings).toEqual([
    "logprobs: the model server's tokens do not spell its answer, left out",
  ]);
});

test("parts of characters are told with the text that they complete", async () => {
  const [first, second] = [Buffer.from("😀").subarray(0, 2), Buffer.from("😀").subarray(2)];
  const parts = [
    tokenLogprob("\ufffd", -1, first, []),
    tokenLogprob("\ufffd", -2, second, []),
    token("!"),
  ];
  const chat = streams(
    withTokens(piece(""), parts[0] as TokenLogprob),
    withTokens(piece("😀"), parts[1] as TokenLogprob),
    withTokens(piece("!"), parts[2] as TokenLogprob),
  );
  for (const method of both) {
    const { ask } = guarded([mail("mask", answers)], chat);
    const { messages } = await ask(asked, method);
    expect(
      tokensIn(messages).map(({ logprob }) => logprob),
      method,
    ).toEqual([-1, -2, -0.5]);
  }
});

test("a guard that is asked in pieces gets no tokens, and tells those of what it let pass", async () => {
  const { guard, seen } = asking(() => ({ action: "pass" }));
  const { ask } = guarded([guard], saysTokens("Hel", "lo"));
  const { messages } = await ask(asked, "chat");
  expect(textsOf(messages)).toEqual(["Hel", "lo"]);
  expect(seen.map(({ text }) => text)).toEqual(["Hello"]);
});
