/** Answers without what the model thought (`include_reasoning: false`): it counts all the same. */
import { describe, expect, it } from "vitest";
import type { LLMResponse } from "../../gen/lintel/v1/chat_pb.js";
import type { Handle } from "../../src/core/call.js";
import { detailsOf, messageChoice, tokenUsage } from "../../src/core/chat-messages.js";
import { LintelError } from "../../src/core/errors.js";
import { Steps, type Waiter } from "../../src/core/steps.js";
import { toolCall } from "../../src/core/tool-calls.js";
import { outcome, start } from "../support/calls.js";
import { FakeClock } from "../support/clock.js";
import { coreOf, run } from "../support/core.js";
import { bench, hello, routing, textOf } from "../support/routing.js";
import { callsTools, hangsAfter, piece, says, scripted, thought } from "../support/scripted.js";
import { models } from "./chatting.js";

const hidden = { ...hello, includeReasoning: false };
const details = '[{"type":"reasoning.encrypted","data":"abc","index":0}]';
const both = ["chat", "complete"] as const;

/** Streams messages, one step each. */
const streams = (...messages: LLMResponse[]): Handle<"chat"> =>
  async function* () {
    for (const message of messages) yield [message];
  };

/** Tells steps as soon as it is asked for them. */
class AtOnce extends Steps<LLMResponse[]> {
  readonly #left: LLMResponse[];

  constructor(left: LLMResponse[]) {
    super();
    this.#left = left;
  }

  ask(by: Waiter<IteratorResult<LLMResponse[]>>): void {
    const message = this.#left.shift();
    by.came(message ? { done: false, value: [message] } : { done: true, value: undefined });
  }

  async return(): Promise<IteratorResult<LLMResponse[]>> {
    return { done: true, value: undefined };
  }
}

const coreThat = (chat: Handle<"chat">) => coreOf([scripted({ chat }, models)]);

/** Everything of an answer that tells of thoughts. */
const thoughtsIn = (messages: readonly LLMResponse[]) =>
  messages.flatMap(({ choices: [choice] }) => {
    const { reasoningContent, reasoningDetails } = choice?.delta ?? choice?.message ?? {};
    return [reasoningContent, reasoningDetails].filter((it) => it !== undefined);
  });

describe("include_reasoning: false", () => {
  const answer = streams(
    thought("I think "),
    thought("so. "),
    thought("", details),
    piece("Hello"),
    piece("", "stop"),
  );

  it("is asked for: else thoughts are told, streamed and whole", async () => {
    for (const more of [{}, { includeReasoning: true }]) {
      const all = await run(coreThat(answer), "chat", { ...hello, ...more });
      expect(thoughtsIn(all)).toEqual(["I think ", "so. ", details]);
      const [whole] = await run(coreThat(answer), "complete", { ...hello, ...more });
      expect(whole?.choices[0]?.message).toMatchObject({
        reasoningContent: "I think so. ",
        reasoningDetails: details,
      });
    }
  });

  it.each(both)("leaves them out, and their details: %s", async (method) => {
    const all = await run(coreThat(answer), method, hidden);
    expect(thoughtsIn(all)).toEqual([]);
    const texts = all.map(({ choices: [it] }) => (it?.delta ?? it?.message)?.content);
    expect(texts).toEqual(method === "chat" ? ["Hello", ""] : ["Hello"]);
  });

  it.each(both)("leaves them out of what a server of whole answers says: %s", async (method) => {
    const complete = async function* () {
      const reasoning = { reasoningContent: "I think so.", reasoningDetails: details };
      yield [{ ...piece(""), choices: [messageChoice("Hello", "stop", [], reasoning)] }];
    };
    const all = await run(coreOf([scripted({ complete }, models)]), method, hidden);
    expect(thoughtsIn(all)).toEqual([]);
    // 11 bytes of thoughts, 5 of the answer.
    expect(all.at(-1)).toMatchObject({ usageEstimated: true, usage: { completionTokens: 4 } });
  });

  it.each(both)("leaves them out where they come behind something else: %s", async (method) => {
    const late = streams(piece("Hel"), thought("hm"), piece("lo"), piece("", "stop"));
    const all = await run(coreThat(late), method, hidden);
    expect(thoughtsIn(all)).toEqual([]);
    const texts = all.map(({ choices: [it] }) => (it?.delta ?? it?.message)?.content);
    expect(texts.join("|")).toBe(method === "chat" ? "Hel|lo|" : "Hello");
  });

  it.each(both)("leaves out any number of them that come at once: %s", async (method) => {
    const thoughts = Array<LLMResponse>(20_000).fill(thought("hm "));
    const chat: Handle<"chat"> = () => ({
      [Symbol.asyncIterator]: () => new AtOnce([...thoughts, piece("Hello"), piece("", "stop")]),
    });
    const all = await run(coreThat(chat), method, hidden);
    expect(thoughtsIn(all)).toEqual([]);
    expect(all.map(({ choices: [it] }) => (it?.delta ?? it?.message)?.content).join("")).toBe(
      "Hello",
    );
    // 60,000 bytes of thoughts, and 5.
    expect(all.at(-1)?.usage).toMatchObject({ completionTokens: 15_002 });
  });

  it.each(both)("is an answer, too, where nothing but thoughts came: %s", async (method) => {
    const all = await run(coreThat(streams(thought("hm"), piece("", "length"))), method, hidden);
    expect(thoughtsIn(all)).toEqual([]);
    expect(all).toMatchObject([{ choices: [{ finishReason: "length" }] }]);
  });
});

describe("tokens of hidden thoughts", () => {
  const details = { cachedTokens: 3, cacheWriteTokens: 2, reasoningTokens: 8 };
  const told = { promptTokens: 7, completionTokens: 9, ...details };
  const usage = tokenUsage(7, 9, detailsOf(3, 2, 8));

  it.each<[string, LLMResponse[]]>([
    ["with the end", [{ ...piece("", "stop"), usage }]],
    ["behind the end", [piece("", "stop"), { ...piece(""), choices: [], usage }]],
    ["before the end", [{ ...thought("more"), usage }, piece("", "stop")]],
  ])("are those that the model server tells, %s", async (_, end) => {
    for (const method of both) {
      const chat = streams(thought("I think so."), ...end);
      const last = (await run(coreThat(chat), method, hidden)).at(-1);
      expect(last).toMatchObject({ usageEstimated: false, usage: told });
    }
  });

  it.each(both)("are as many as they would be told, where none are counted: %s", async (method) => {
    const chats = [
      streams(thought("I think so, "), piece("Hello"), piece("", "stop")),
      streams(thought("I think so, "), piece("Hello"), piece("", "stop", [7, 0])),
      streams(piece("Hello"), thought("I think so, "), piece("", "stop")),
    ];
    for (const chat of chats) {
      const counts = [];
      for (const request of [hello, hidden]) {
        const last = (await run(coreThat(chat), method, request)).at(-1);
        expect(last?.usageEstimated).toBe(true);
        counts.push(last?.usage);
      }
      // 12 bytes and 5.
      expect(counts[0]).toMatchObject({ completionTokens: 5 });
      expect(counts[1]).toEqual(counts[0]);
    }
  });

  it.each(both)("are counted beside calls of tools: %s", async (method) => {
    const chat: Handle<"chat"> = async function* (it) {
      yield [thought("12345678")];
      for await (const [message] of callsTools([toolCall(0, "a", "find", "{}")])(it)) {
        yield [{ ...(message as LLMResponse), usage: undefined }];
      }
    };
    const tools = [{ type: "function", function: { name: "find" } }];
    const last = (await run(coreThat(chat), method, { ...hidden, tools })).at(-1);
    // 8 bytes of thoughts, 6 of the call.
    expect(last).toMatchObject({ usageEstimated: true, usage: { completionTokens: 4 } });
  });

  it("are among those of a caller who left once something was told", async () => {
    const hanging = hangsAfter("Hello");
    const lines: object[] = [];
    const note = (fields: object) => void lines.push(fields);
    const log = { debug: note, info: note, warn: note, error: note };
    const chat: Handle<"chat"> = async function* (call) {
      yield [thought("I think so, ")];
      yield* hanging.handle(call);
    };
    const core = coreOf([scripted({ chat }, models)], {}, { log });
    const messages = start(core, "chat", hidden).messages[Symbol.asyncIterator]();
    expect((await messages.next()).value).toMatchObject([
      { choices: [{ delta: { content: "Hello" } }] },
    ]);
    const pending = messages.next().catch((error: LintelError) => error.code);
    await messages.return?.();
    await hanging.aborted;
    expect(await pending).toBe("cancelled");
    expect(lines).toMatchObject([{ code: "cancelled", completionTokens: 5, estimated: true }]);
  });
});

describe("a target that fails after thoughts", () => {
  const fails = (...before: LLMResponse[]): Handle<"chat"> =>
    async function* () {
      for (const message of before) yield [message];
      throw new LintelError("upstream_unreachable", "away");
    };
  const answers = (warning: string) =>
    streams({ ...thought("Again: "), warnings: [warning] }, piece("Hello"), {
      ...piece("", "stop", [7, 1]),
    });
  const asked = (first: Handle<"chat">) => {
    const backends = [
      scripted({ chat: first }, models, "a"),
      scripted({ chat: answers("of b") }, models, "b"),
    ];
    const entry = { name: "chat-1", targets: [{ backend: "a" }, { backend: "b", priority: 1 }] };
    return bench(backends, {}, [entry]).core;
  };
  const request = { ...hidden, model: "chat-1" };

  it.each<[string, LLMResponse[]]>([
    ["of text", [thought("hm")]],
    ["of details alone", [thought("", details)]],
    ["with counts so far", [{ ...thought("hm"), usage: tokenUsage(7, 1) }]],
    ["behind a message without a choice", [{ ...piece(""), choices: [] }, thought("hm")]],
  ])("is followed by another one, where the caller saw nothing: %s", async (_, before) => {
    const { code, messages, metadata } = await outcome(asked(fails(...before)), "chat", request);
    expect(code).toBe("ok");
    expect(metadata.get("x-lintel-attempts")).toBe("2");
    expect(messages.map(({ choices: [it] }) => it?.delta?.content)).toEqual(["Hello", ""]);
    expect(messages.at(-1)).toMatchObject({ warnings: ["of b"], usage: { completionTokens: 1 } });
  });

  it("is not, where the caller saw them, or something else", async () => {
    const seen = await outcome(asked(fails(thought("hm"))), "chat", {
      ...request,
      includeReasoning: true,
    });
    expect([seen.code, thoughtsIn(seen.messages)]).toEqual(["upstream_unreachable", ["hm"]]);
    const begun = await outcome(asked(fails(thought("hm"), piece("Hel"))), "chat", request);
    expect([begun.code, begun.messages.length]).toEqual(["upstream_unreachable", 1]);
  });
});

it("a target that thinks unseen is alive: it has as long again for its first token", async () => {
  const clock = new FakeClock();
  const chat: Handle<"chat"> = async function* (call) {
    for (const text of ["I ", "think ", "so."]) {
      await clock.advance(1999);
      yield [thought(text)];
    }
    yield* says("Hello")(call);
  };
  const settings = { routing: routing({ timeouts: { firstToken: 2000 }, retry: { attempts: 1 } }) };
  const core = coreOf([scripted({ chat }, models)], settings, { clock });
  expect(await textOf(run(core, "chat", hidden))).toBe("Hello");
});
