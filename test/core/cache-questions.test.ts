/** Who asks the same gets answers that are kept, around the real core. */
import { afterEach, beforeEach, describe, expect, test, vi } from "vitest";
import type { LLMRequest, LLMResponse } from "../../gen/lintel/v1/chat_pb.js";
import { passHeadersOf } from "../../src/core/routing/pass-headers.js";
import { createToken, hashToken } from "../../src/core/tokens.js";
import { toolCall } from "../../src/core/tool-calls.js";
import { caching, hit, hour, miss, saidIn } from "../support/caching.js";
import { hello, routing } from "../support/routing.js";
import { callsTools, piece, says, stopsAt, thinks, thought } from "../support/scripted.js";

beforeEach(() => void vi.useFakeTimers({ toFake: ["Date"], now: Date.UTC(2026, 0, 1) }));
afterEach(() => void vi.useRealTimers());

const noPenalties = { frequencyPenalty: 0, presencePenalty: 0, repetitionPenalty: 1, minP: 0 };

test("who is told otherwise by a header that a model server is told asks another question", async () => {
  const passHeaders = passHeadersOf([["scripted", ["x-tenant"]]]);
  const { ask, backend } = caching(says("Hi"), { routing: routing({ passHeaders }) });
  const by = (tenant: string, other = "") => ({
    header: (name: string) => ({ "x-tenant": tenant, "x-other": other })[name] || undefined,
  });
  const statuses = [];
  for (const [tenant, other] of [["a"], ["b"], ["a", "more"], [""], [""]] as const) {
    statuses.push((await ask({}, by(tenant, other))).status);
  }
  expect(statuses).toEqual([miss, miss, hit, miss, hit]);
  expect(backend.asked).toHaveLength(3);
});

describe("who asks the same", () => {
  test.each(["complete", "chat"] as const)(
    "gets the same answer, whole and streamed, of which the model hears nothing (first: %s)",
    async (first) => {
      const { ask, backend } = caching();
      const answers = [await ask({}, {}, first)];
      vi.setSystemTime(Date.now() + 60_000);
      for (const method of ["complete", "chat", "complete"] as const) {
        answers.push(await ask({}, {}, method));
      }
      expect(backend.asked).toHaveLength(1);
      const later = "lintel; hit; ttl=3540";
      expect(answers.map(({ status }) => status)).toEqual([miss, later, later, later]);
      const ids = new Set<string>();
      for (const { messages } of answers) {
        const last = messages.at(-1) as LLMResponse;
        ids.add(last.id);
        expect(saidIn(messages)).toBe("Hi there");
        expect(last.choices[0]?.finishReason).toBe("stop");
        expect(last.usage).toMatchObject({ promptTokens: 7, completionTokens: 2, totalTokens: 9 });
        expect(last.model).toBe("chat-1");
      }
      expect(ids.size).toBe(4);
      // A new one, each of them.
      const created = answers.map(({ messages }) => messages[0]?.created ?? 0);
      expect(created.map((at) => at - (created[0] ?? 0))).toEqual([0, 60, 60, 60]);
    },
  );

  test("gets a streamed answer in one piece and an end", async () => {
    const { ask } = caching();
    await ask();
    const { messages } = await ask({}, {}, "chat");
    expect(messages.map(({ choices: [choice] }) => choice)).toMatchObject([
      { finishReason: "", delta: { role: "assistant", content: "Hi there" } },
      { finishReason: "stop", delta: { content: "" } },
    ]);
  });

  test("gets the text of stop that ended it, whole and streamed", async () => {
    const { ask, backend } = caching(stopsAt("Hi", "END"));
    for (const method of ["chat", "complete", "chat"] as const) {
      const { messages } = await ask({ stop: ["END"] }, {}, method);
      expect(messages.at(-1)?.choices[0]).toMatchObject({ stopSequence: "END" });
    }
    expect(backend.asked).toHaveLength(1);
  });

  test("gets thoughts, calls of tools, details of usage, estimates and warnings, too", async () => {
    const thoughts = thinks([thought("So", '[{"type":"a","data":"x"}]'), thought("…")], "Yes");
    const { ask } = caching(thoughts, {}, {});
    const ends = async (ask: ReturnType<typeof caching>["ask"]) => {
      const [first, again] = [await ask({}, {}, "chat"), await ask()];
      expect(again.status).toBe(hit);
      const warnings = first.messages.at(-1)?.warnings;
      expect([again.warnings, again.messages[0]?.warnings]).toEqual([warnings, warnings]);
      return again.messages[0];
    };
    expect(await ends(ask)).toMatchObject({
      usage: { cachedTokens: 4, cacheWriteTokens: 2, reasoningTokens: 2 },
      choices: [
        {
          message: {
            content: "Yes",
            reasoningContent: "So…",
            reasoningDetails: '[{"type":"a","data":"x"}]',
          },
        },
      ],
    });
    const tool = caching(
      callsTools([toolCall(0, "id", "look", '{"a"')], [toolCall(0, "", "", ":1}")]),
    );
    expect(await ends(tool.ask)).toMatchObject({
      choices: [
        {
          finishReason: "tool_calls",
          message: { toolCalls: [{ id: "id", function: { name: "look", arguments: '{"a":1}' } }] },
        },
      ],
    });
    const warned = caching(async function* (call) {
      call.warnings.add("the seed was dropped");
      yield [{ ...piece("Hm"), warnings: ["half of it"], usageEstimated: true }];
      yield [piece("", "length", [3, 1])];
    });
    expect(await ends(warned.ask)).toMatchObject({
      usageEstimated: true,
      warnings: ["the seed was dropped", "half of it"],
      choices: [{ finishReason: "length" }],
    });
  });

  test("does so by an alias, by no name, and with a default written out", async () => {
    const settings = { models: [{ name: "chat-1", aliases: ["gpt"] }] };
    const { ask, backend } = caching(undefined, settings);
    await ask();
    for (const request of [
      { model: "gpt" },
      { model: "chat-1" },
      { temperature: 0.7, topK: 0 },
      noPenalties,
    ]) {
      expect((await ask(request)).status).toBe(hit);
    }
    expect(backend.asked).toHaveLength(1);
  });

  test("is another caller, unless all get each other's", async () => {
    const alone = caching();
    await alone.ask({}, { credential: "a" });
    expect((await alone.ask({}, { credential: "b" })).status).toBe(miss);
    const cache = { ttlMs: hour, scope: "all", maxAnswerBytes: 1000 } as const;
    const together = caching(undefined, { cache });
    await together.ask({}, { credential: "a" });
    expect((await together.ask({}, { credential: "b" })).status).toBe(hit);
  });

  test("is another member of the team, where members get each other's", async () => {
    const [a, b, c, red] = [createToken(), createToken(), createToken(), createToken()];
    const tokens = [
      { name: "a", hash: hashToken(a), team: "red" },
      { name: "b", hash: hashToken(b), team: "red" },
      { name: "c", hash: hashToken(c), team: "blue" },
      { name: "red", hash: hashToken(red) },
    ];
    const cache = { ttlMs: hour, scope: "team", maxAnswerBytes: 1000 } as const;
    const { ask } = caching(undefined, { cache, auth: { mode: "token", tokens } });
    const got: unknown[] = [];
    for (const credential of [a, b, c, red, red]) got.push((await ask({}, { credential })).status);
    expect(got).toEqual([miss, hit, miss, miss, hit]);
  });

  test("hears that a token may not use the model", async () => {
    const issued = (name: string, models: string[]) => ({ name, hash: hashToken(name), models });
    const auth = { mode: "token", tokens: [issued("a", ["*"]), issued("b", ["chat-2"])] } as const;
    const cache = { ttlMs: hour, scope: "all", maxAnswerBytes: 1000 } as const;
    const { ask } = caching(undefined, { auth, cache });
    await ask({ model: "chat-1" }, { credential: "a" });
    const { code } = await ask({ model: "chat-1" }, { credential: "b" });
    expect(code).toBe("model_not_allowed");
  });
});

test.each([
  ["keys of model servers' caches", { promptCacheKey: "a" }, { promptCacheKey: "b" }],
  ["tiers of service", { serviceTier: "flex" }, { serviceTier: "priority" }],
  ["the caller's users", { user: "a" }, { user: "b" }],
])("%s make no other question", async (_, first, other) => {
  const { ask, backend } = caching();
  await ask(first);
  for (const more of [other, {}]) {
    expect(await ask(more)).toMatchObject({ code: "ok", status: hit });
  }
  expect(backend.asked).toHaveLength(1);
});

test("a text is the same in however many parts it comes, and as no part", async () => {
  const { ask, backend } = caching();
  const inParts = (...texts: string[]) => {
    const parts = texts.map((text) => ({ type: "text", text }));
    return { messages: [{ role: "user", parts }] };
  };
  const whole = { messages: [{ role: "user", content: "What is this?" }] };
  const statuses = [];
  for (const request of [inParts("What is ", "this?"), inParts("What is this?"), whole]) {
    statuses.push((await ask(request)).status);
  }
  expect(statuses).toEqual([miss, hit, hit]);
  expect((await ask(inParts("What is ", "that?"))).status).toBe(miss);
  expect(backend.asked).toHaveLength(2);
});

test("in which order tokens have their biases makes no other question, and what they are does", async () => {
  const { ask } = caching();
  const statuses = [];
  for (const bias of ['{"5":1,"70":-2}', '{"70":-2,"5":1}', '{"5":-2,"70":1}', '{"5":1}']) {
    statuses.push((await ask({ logitBias: JSON.parse(bias) })).status);
  }
  expect(statuses).toEqual([miss, hit, miss, miss]);
});

test.each<Partial<Record<keyof LLMRequest, unknown>>>([
  { messages: [{ role: "user", content: "Hello!" }] },
  { messages: [{ role: "system", content: "Hello" }] },
  { messages: [...hello.messages, ...hello.messages] },
  { model: "chat-2" },
  { temperature: 0 },
  { maxTokens: 10 },
  { topP: 0.5 },
  { topK: 4 },
  { frequencyPenalty: 0.5 },
  { presencePenalty: 0.5 },
  { repetitionPenalty: 1.1 },
  { minP: 0.05 },
  { logitBias: { 5: 1 } },
  { logprobs: true },
  { verbosity: "low" },
  { seed: 1n },
  { stop: ["x"] },
  { tools: [{ type: "function", function: { name: "f" } }] },
  { responseFormat: { type: "json_object" } },
  { reasoningEffort: "low" },
  { includeReasoning: false },
])("%o is another question", async (request) => {
  const { ask, backend } = caching();
  await ask();
  expect(await ask(request)).toMatchObject({ code: "ok", status: miss });
  expect(backend.asked).toHaveLength(2);
});
