/** How likely the tokens of answers were, on their way from a backend to a caller. */
import { describe, expect, it } from "vitest";
import type { LLMResponse, TokenLogprob } from "../../gen/lintel/v1/chat_pb.js";
import type { Handle } from "../../src/core/call.js";
import { messageChoice } from "../../src/core/chat-messages.js";
import { withLogprobs } from "../../src/core/logprobs.js";
import { toolCall } from "../../src/core/tool-calls.js";
import { MemoryIdempotency } from "../../src/state/idempotency/memory.js";
import { caching, someHit } from "../support/caching.js";
import { outcome } from "../support/calls.js";
import { coreOf, run } from "../support/core.js";
import { chatModel } from "../support/models.js";
import { hello } from "../support/routing.js";
import { callsTools, piece, says, scripted, thought } from "../support/scripted.js";
import { saysTokens, textsOf, token, tokensIn, withTokens } from "../support/tokens.js";
import { models } from "./chatting.js";

const both = ["chat", "complete"] as const;
const asked = { ...hello, logprobs: true };
const hidden = { ...asked, includeReasoning: false };

const streams = (...messages: LLMResponse[]): Handle<"chat"> =>
  async function* () {
    for (const message of messages) yield [message];
  };

const coreThat = (chat: Handle<"chat">) => coreOf([scripted({ chat }, models)]);

/** One that answers as a whole. */
const wholly = (text: string, thoughts: string, ...tokens: TokenLogprob[]) => {
  const reasoning = thoughts === "" ? undefined : { reasoningContent: thoughts };
  const complete = async function* () {
    const choice = withLogprobs(messageChoice(text, "stop", [], reasoning), tokens);
    yield [{ ...piece(""), choices: [choice] }];
  };
  return coreOf([scripted({ complete }, models)]);
};

const warningsOf = (messages: readonly LLMResponse[]) => messages.at(-1)?.warnings;

describe.each(both)("%s", (method) => {
  it("tells each token, streamed in the message with its text", async () => {
    const messages = await run(coreThat(saysTokens("Hel", "lo")), method, asked);
    expect(textsOf(messages)).toEqual(["Hel", "lo"]);
    const pairs = messages.map(({ choices: [it] }) => [
      (it?.delta ?? it?.message)?.content,
      it?.logprobs?.content.map(({ token }) => token).join("|"),
    ]);
    expect(pairs).toEqual(
      method === "chat"
        ? [
            ["Hel", "Hel"],
            ["lo", "lo"],
            ["", undefined],
          ]
        : [["Hello", "Hel|lo"]],
    );
    expect(warningsOf(messages)).toEqual([]);
  });

  it("tells nothing where nobody asks", async () => {
    for (const logprobs of [undefined, false]) {
      const messages = await run(coreThat(saysTokens("Hello")), method, { ...hello, logprobs });
      expect(tokensIn(messages)).toEqual([]);
      expect(messages.some(({ choices: [it] }) => it?.logprobs)).toBe(false);
    }
  });

  it("tells numbers that JSON has, whole letters, and as many others as were asked for", async () => {
    const odd = (logprob: number, text: string) => ({ ...token(text), logprob });
    const likeliest: TokenLogprob = {
      ...token("Hello", 0.25, ["a", -1], ["b", -2], ["c", -3]),
      logprob: 0.25,
    };
    const tokens = [
      likeliest,
      odd(Number.NaN, "a\ud83d"),
      odd(Number.NEGATIVE_INFINITY, "b"),
      odd(-1e38, "c"),
    ];
    const chat = streams(withTokens(piece("Hello"), ...tokens), piece("", "stop"));
    const messages = await run(coreThat(chat), method, { ...asked, topLogprobs: 2 });
    expect(tokensIn(messages)).toMatchObject([
      { token: "Hello", logprob: 0, topLogprobs: [{ token: "a" }, { token: "b" }] },
      { token: "a\ufffd", logprob: -9999 },
      { token: "b", logprob: -9999 },
      { token: "c", logprob: -9999 },
    ]);
    const none = await run(coreThat(chat), method, asked);
    expect(tokensIn(none)[0]?.topLogprobs).toEqual([]);
  });

  it("tells who asked that the model server told none, once it says something", async () => {
    const messages = await run(coreThat(says("Hi")), method, asked);
    expect(warningsOf(messages)).toEqual(["logprobs: the model server told none"]);
    const calls = callsTools([toolCall(0, "a", "f", "{}")]);
    const tools = [{ type: "function", function: { name: "f" } }];
    expect(warningsOf(await run(coreThat(calls), method, { ...asked, tools }))).toEqual([]);
  });

  it("says no more than that where the model is known to tell none", async () => {
    const model = chatModel("chat-1", { supports: [] });
    const core = coreOf([scripted({ chat: says("Hi") }, [model])], {
      models: [{ name: "chat-1", unsupported: "ignore" }],
    });
    const { code, warnings } = await outcome(core, method, asked);
    expect([code, warnings]).toEqual(["ok", ["logprobs: not supported by this model, ignored"]]);
  });

  it("tells tokens of thoughts and calls, too, as the server does", async () => {
    const call = toolCall(0, "a", "f", "{}");
    const calls = withTokens({ ...piece("") }, token("<call>"));
    Object.assign(calls.choices[0]?.delta ?? {}, { toolCalls: [call] });
    const chat = streams(
      withTokens(thought("Hm"), token("Hm")),
      withTokens(piece("Hi"), token("</think>"), token("Hi")),
      calls,
      withTokens(piece("", "stop"), token("<|end|>")),
    );
    const tools = [{ type: "function", function: { name: "f" } }];
    const messages = await run(coreThat(chat), method, { ...asked, tools });
    expect(textsOf(messages)).toEqual(["Hm", "</think>", "Hi", "<call>", "<|end|>"]);
  });

  it("tells none of thoughts that the caller does not see", async () => {
    const chat = streams(
      withTokens(thought("Secret"), token("<think>"), token("Sec"), token("ret")),
      withTokens(thought(" plan"), token(" plan")),
      withTokens(piece("Hel"), token("</think>"), token("\n"), token("Hel")),
      withTokens(piece("lo"), token("lo"), token("<|end|>")),
      piece("", "stop"),
    );
    const messages = await run(coreThat(chat), method, hidden);
    expect(textsOf(messages)).toEqual(["Hel", "lo"]);
    expect(warningsOf(messages)).toEqual([]);
  });

  it("tells none of them of an answer that came as a whole, and none where they can't be told apart", async () => {
    const told = [token("<think>"), token("Hello, "), token("it is"), token("</think>")];
    const core = wholly(
      "Hello",
      "Hello, it is",
      ...told,
      token("Hel"),
      token("lo"),
      token("<end>"),
    );
    const messages = await run(core, method, hidden);
    expect(textsOf(messages)).toEqual(["Hel", "lo"]);
    const odd = wholly("Hello", "Hm", token("Hm"), token("H\ufffd"));
    const left = await run(odd, method, hidden);
    expect(textsOf(left)).toEqual([]);
    expect(warningsOf(left)).toEqual([
      "logprobs: the model server's tokens do not spell its answer, left out",
    ]);
  });
});

describe("a stream", () => {
  it("tells tokens ahead of their text with what follows, and the last ones at its end", async () => {
    const ahead = withTokens(piece(""), token("Hel"));
    const half = withTokens(piece("lo \ud83d"), token("lo"), token(" ?"));
    const chat = streams(
      ahead,
      half,
      piece("\ude00"),
      withTokens(piece(""), token("<end>")),
      piece("", "stop"),
    );
    const messages = await run(coreThat(chat), "chat", asked);
    expect(
      messages.map(({ choices: [it] }) => [
        it?.delta?.content,
        ...(it?.logprobs?.content ?? []).map(({ token }) => token),
      ]),
    ).toEqual([["lo ", "Hel", "lo", " ?"], ["😀"], ["", "<end>"]]);
  });

  it("that never ends is refused, also where it tells of nothing but tokens", async () => {
    const others = Array.from({ length: 20 }, (_, i) => [`${i}`.repeat(50), -1] as const);
    const many = Array<TokenLogprob>(1000).fill(token("x".repeat(50), -1, ...others));
    const chat: Handle<"chat"> = async function* () {
      for (;;) yield [withTokens(piece("x"), ...many)];
    };
    const { code } = await outcome(coreThat(chat), "chat", { ...asked, topLogprobs: 20 });
    expect(code).toBe("upstream_failed");
  });
});

describe("an answer that is given again", () => {
  it("from a cache has its tokens, whole and streamed, and its letters count", async () => {
    const { ask } = caching(saysTokens("Hel", "lo"));
    await ask({ logprobs: true });
    for (const method of both) {
      const { status, messages } = await ask({ logprobs: true }, {}, method);
      expect([status, textsOf(messages)], method).toEqual([someHit, ["Hel", "lo"]]);
    }
  });

  it.each(both)("for a key has them: %s", async (method) => {
    const limits = { ttlMs: 3_600_000, maxAnswerBytes: 1_000_000, maxBytes: 10_000_000 };
    const store = new MemoryIdempotency(limits);
    const backend = scripted({ chat: saysTokens("Hel", "lo") }, models);
    const core = coreOf([backend], {}, { idempotency: { store, lingerMs: 1000 } });
    for (const _ of ["first", "again"]) {
      const { messages } = await outcome(core, method, asked, { idempotencyKey: "k" });
      expect(textsOf(messages)).toEqual(["Hel", "lo"]);
    }
    expect(backend.asked).toHaveLength(1);
  });
});
