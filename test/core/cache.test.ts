/** Answers that are kept for who asks the same, around the real core. */

import { toBinary } from "@bufbuild/protobuf";
import { afterEach, beforeEach, describe, expect, test, vi } from "vitest";
import {
  type LLMRequest,
  type LLMResponse,
  LLMResponseSchema,
} from "../../gen/lintel/v1/chat_pb.js";
import type { AnswerCache } from "../../src/core/cache/store.js";
import type { Handle } from "../../src/core/call.js";
import { Cancellation } from "../../src/core/cancellation.js";
import { LintelError } from "../../src/core/errors.js";
import type { CallerLimits } from "../../src/core/limits/settings.js";
import type { ModelSettings } from "../../src/core/settings.js";
import { createToken, hashToken } from "../../src/core/tokens.js";
import { toolCall } from "../../src/core/tool-calls.js";
import type { UsageRecord } from "../../src/core/usage/record.js";
import { memoryCache } from "../../src/state/cache/memory.js";
import { memoryLimits } from "../../src/state/limits/memory.js";
import { caching, hit, miss } from "../support/caching.js";
import * as calls from "../support/calls.js";
import { settled } from "../support/clock.js";
import { coreOf } from "../support/core.js";
import { chatModel } from "../support/models.js";
import { fails, hello, inTurn } from "../support/routing.js";
import {
  breaksAfter,
  callsTools,
  hangsAfter,
  paints,
  piece,
  says,
  scripted,
  thinks,
  thought,
} from "../support/scripted.js";

const hour = 3_600_000;

beforeEach(() => void vi.useFakeTimers({ toFake: ["Date"], now: Date.UTC(2026, 0, 1) }));
afterEach(() => void vi.useRealTimers());

const saidIn = (messages: readonly LLMResponse[]) =>
  messages.map(({ choices: [choice] }) => (choice?.delta ?? choice?.message)?.content).join("");

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
    for (const request of [{ model: "gpt" }, { model: "chat-1" }, { temperature: 0.7, topK: 0 }]) {
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

test("keys of model servers' caches make no other question", async () => {
  const { ask, backend } = caching();
  await ask({ promptCacheKey: "a" });
  for (const more of [{ promptCacheKey: "b" }, {}]) {
    expect(await ask(more)).toMatchObject({ code: "ok", status: hit });
  }
  expect(backend.asked).toHaveLength(1);
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

describe("of a model", () => {
  const one = (different: Partial<ModelSettings>, store: AnswerCache) =>
    caching(undefined, { models: [{ name: "chat-1", ...different }] }, { cache: store }).ask;

  test.each<Partial<ModelSettings>>([
    { targets: [{ backend: "scripted", model: "chat-2" }] },
    { model: "chat-2" },
    { backends: ["scripted"] },
    { defaults: { temperature: 0.1 } },
    { reasoningEffort: "high" },
    { maxTokens: 1000 },
    { unsupported: "ignore" },
  ])("that is set otherwise, %o, nothing is known", async (different) => {
    const store = memoryCache(1_000_000);
    await one({}, store)();
    expect((await one({}, store)()).status).toBe(hit);
    expect(await one(different, store)()).toMatchObject({ code: "ok", status: miss });
  });

  test("is the same where a door cuts what another refuses, and nothing is cut", async () => {
    const models = [{ name: "chat-1", maxTokens: 100 }];
    const { ask } = caching(undefined, { models });
    await ask({ maxTokens: 100 });
    expect((await ask({ maxTokens: 100 }, { cutsTokens: true })).status).toBe(hit);
    expect((await ask({ maxTokens: 101 }, { cutsTokens: true })).status).toBe(miss);
    expect((await ask({ maxTokens: 101 }, { cutsTokens: true })).status).toBe(hit);
    expect((await ask({ maxTokens: 101 })).code).toBe("invalid_fields");
  });

  test.each([
    { of: "one model", targets: [{ backend: "scripted", model: "chat-1" }], second: hit },
    {
      of: "one model, and of a model for each name elsewhere",
      targets: [
        { backend: "gone", model: "chat-1" },
        { backend: "scripted", model: "chat-*", priority: 1 },
      ],
      second: miss,
    },
  ])("of a wildcard's names are the same where they are those of $of", async (wildcard) => {
    const { ask, backend } = caching(undefined, {
      models: [{ name: "any-*", targets: wildcard.targets }],
    });
    expect((await ask({ model: "any-1" })).status).toBe(miss);
    expect((await ask({ model: "any-2" })).status).toBe(wildcard.second);
    const models = new Set(backend.asked.map((request) => "model" in request && request.model));
    expect(models.size).toBe(backend.asked.length);
  });

  test("of a wildcard's names are none the same that some target takes as they are", async () => {
    const targets = [
      { backend: "gone", model: "chat-1" },
      { backend: "scripted", priority: 1 },
    ];
    const { ask, backend } = caching(undefined, { models: [{ name: "chat-*", targets }] });
    expect((await ask({ model: "chat-1" })).status).toBe(miss);
    expect((await ask({ model: "chat-2" })).status).toBe(miss);
    expect(backend.asked).toMatchObject([{ model: "chat-1" }, { model: "chat-2" }]);
  });

  test("at another backend, under the same name, nothing is known", async () => {
    const store = memoryCache(1_000_000);
    const cache = { ttlMs: hour, scope: "caller", maxAnswerBytes: 1000 } as const;
    const at = async (name: string) => {
      const models = [{ name: "m", targets: [{ backend: name, model: "up" }] }];
      const backends = ["a", "b"].map((it) => scripted({ chat: says(it) }, [chatModel("up")], it));
      const core = coreOf(backends, { cache, models }, { cache: store });
      const asked = { ...hello, model: "m" };
      const { messages, metadata } = await calls.outcome(core, "complete", asked);
      return [saidIn(messages), metadata.get("cache-status")];
    };
    expect(await at("a")).toEqual(["a", miss]);
    expect(await at("b")).toEqual(["b", miss]);
    expect(await at("a")).toEqual(["a", hit]);
  });

  test("answers that are kept for less than a second are kept", async () => {
    const { ask } = caching(undefined, { models: [{ name: "chat-1", cacheTtlMs: 500 }] });
    await ask();
    expect((await ask()).status).toBe("lintel; hit; ttl=1");
    vi.setSystemTime(Date.now() + 1000);
    expect((await ask()).status).toBe(miss);
  });

  test("that has settings which change nothing the same is known", async () => {
    const store = memoryCache(1_000_000);
    await caching(undefined, {}, { cache: store }).ask();
    const same = { unsupported: "default", aliases: ["x"], cacheTtlMs: 5000 } as const;
    expect((await one(same, store)()).status).toBe("lintel; hit; ttl=5");
  });

  test("whose weights alone are others the same is known", async () => {
    const store = memoryCache(1_000_000);
    const by = (weight: number) => one({ targets: [{ backend: "scripted", weight }] }, store);
    await by(1)();
    expect((await by(2)()).status).toBe(hit);
  });

  test("answers are kept as long as it says itself, or all models say; of one without a time none is", async () => {
    const models = [{ name: "chat-2", cacheTtlMs: 0 }];
    const { ask } = caching(undefined, { models });
    expect((await ask({ model: "chat-2" })).status).toBeUndefined();
    expect((await ask({ model: "chat-2" })).status).toBeUndefined();
    const cache = { scope: "caller", maxAnswerBytes: 1000 } as const;
    const own = [{ name: "chat-2", cacheTtlMs: 5000 }];
    const some = caching(undefined, { cache: { ...cache, ttlMs: undefined }, models: own });
    expect((await some.ask({ model: "chat-1" })).status).toBeUndefined();
    await some.ask({ model: "chat-2" });
    expect((await some.ask({ model: "chat-2" })).status).toBe("lintel; hit; ttl=5");
    vi.setSystemTime(Date.now() + 4000);
    expect((await some.ask({ model: "chat-2" })).status).toBe("lintel; hit; ttl=1");
    vi.setSystemTime(Date.now() + 1000);
    expect((await some.ask({ model: "chat-2" })).status).toBe(miss);
    expect((await some.ask({ model: "chat-2" })).status).toBe("lintel; hit; ttl=5");
  });

  test("of images none is kept", async () => {
    const backend = scripted({ streamTextToImage: paints() });
    const cache = { ttlMs: hour, scope: "caller", maxAnswerBytes: 1e6 } as const;
    const core = coreOf([backend], { cache }, { cache: memoryCache(1e6) });
    for (let i = 0; i < 2; i++) {
      const { code, metadata } = await calls.outcome(core, "textToImage", { prompt: "x" });
      expect([code, metadata.has("cache-status")]).toEqual(["ok", false]);
    }
    expect(backend.asked).toHaveLength(2);
  });

  test("an answer is no older than new where the clock was set back", async () => {
    const { ask } = caching();
    await ask();
    vi.setSystemTime(Date.now() - 60_000);
    expect((await ask()).status).toBe(hit);
  });
});

test("what is kept serves while the model's server is out", async () => {
  let fails = false;
  const { ask } = caching(async function* (call) {
    if (fails) throw new LintelError("upstream_unreachable", "no");
    yield* says("Hi")(call);
  });
  await ask();
  fails = true;
  // Often enough for it to be taken out.
  for (let i = 0; i < 20; i++) await ask({ temperature: 0.1 });
  expect((await ask({ temperature: 0.1 })).code).not.toBe("ok");
  expect(await ask()).toMatchObject({ code: "ok", status: hit });
});

test("a call that is over gives its place at the model to the next one", async () => {
  const models = [{ name: "chat-1", maxInFlight: 1 }];
  const { ask } = caching(undefined, { models });
  for (const method of ["complete", "complete", "chat", "chat"] as const) {
    expect((await ask({}, { control: "no-cache" }, method)).code).toBe("ok");
  }
});

test("what a backend holds for an answer is freed with the call", async () => {
  let held = 0;
  const complete: Handle<"complete"> = async function* () {
    held++;
    try {
      yield [{ ...piece("Hi", "stop", [1, 1]) }];
      await new Promise(() => {});
    } finally {
      held--;
    }
  };
  const cache = { ttlMs: hour, scope: "caller", maxAnswerBytes: 1000 } as const;
  const store = memoryCache(1_000_000);
  const core = coreOf([scripted({ complete })], { cache }, { cache: store });
  expect((await calls.outcome(core, "complete", hello)).code).toBe("ok");
  await settled();
  expect(held).toBe(0);
});

describe("Cache-Control", () => {
  const other = "lintel; fwd=request";

  test.each([
    "no-cache",
    "No-Cache",
    "no-cache, max-age=100",
    "max-age=0",
    "private, max-age=100, no-cache",
  ])("%s wants another answer, which is kept in place of the one before", async (control) => {
    let count = 0;
    const { ask } = caching(async function* (call) {
      yield* says(`${++count}`)(call);
    });
    await ask();
    const { status, messages } = await ask({}, { control });
    expect([status, saidIn(messages)]).toEqual([other, "2"]);
    const again = await ask();
    expect([again.status, saidIn(again.messages)]).toEqual([hit, "2"]);
  });

  test("no-store neither takes one nor leaves one", async () => {
    const { ask, backend } = caching();
    expect((await ask({}, { control: "no-store" })).status).toBe(other);
    expect((await ask()).status).toBe(miss);
    expect((await ask({}, { control: "max-age=60, no-store" })).status).toBe(other);
    expect(backend.asked).toHaveLength(3);
  });

  test("max-age says how old one may be", async () => {
    const { ask } = caching();
    await ask();
    vi.setSystemTime(Date.now() + 60_000);
    expect((await ask({}, { control: "max-age=60" })).status).toBe("lintel; hit; ttl=3540");
    expect((await ask({}, { control: 'max-age="59"' })).status).toBe("lintel; fwd=stale");
    expect((await ask({}, { control: "max-age=59" })).status).toBe(hit);
  });

  test.each([
    "",
    "no-transform",
    "max-age",
    "max-age=soon",
    "x=no-store",
    "no-cachet",
    "only-if-cached",
  ])("%j says nothing", async (control) => {
    const { ask } = caching();
    await ask();
    expect((await ask({}, { control })).status).toBe(hit);
  });
});

describe("is not kept", () => {
  test.each(["chat", "complete"] as const)(
    "what a target left out that another one can do: %s",
    async (method) => {
      const models = (...supports: string[]) => [chatModel("m", { supports })];
      const able = inTurn(fails("unavailable"), says("able"));
      const backends = [
        scripted({ chat: able }, models("tools"), "able"),
        scripted({ chat: says("plain") }, models(), "plain"),
      ];
      const cache = { ttlMs: hour, scope: "caller", maxAnswerBytes: 1000 } as const;
      const core = coreOf(backends, { cache }, { cache: memoryCache(1e6) });
      const tools = [{ type: "function", function: { name: "f" } }];
      const said = async () => {
        const { messages, metadata } = await calls.outcome(core, method, { ...hello, tools });
        return [saidIn(messages as LLMResponse[]), metadata.get("cache-status")];
      };
      expect(await said()).toEqual(["plain", miss]);
      expect(await said()).toEqual(["able", miss]);
      expect(await said()).toEqual(["able", hit]);
    },
  );

  test("what a target left out that was found out by the call not to know it", async () => {
    const models = (...supports: string[]) => [chatModel("m", { supports })];
    const unsure = models("tools");
    const learns: Handle<"chat"> = (call) => {
      unsure.splice(0, 1, ...models());
      return says("plain")(call);
    };
    const backends = [
      scripted({ chat: learns }, unsure, "unsure"),
      scripted({ chat: says("able") }, models("tools"), "able"),
    ];
    const cache = { ttlMs: hour, scope: "caller", maxAnswerBytes: 1000 } as const;
    const store = memoryCache(1e6);
    const core = coreOf(backends, { cache }, { cache: store });
    const tools = [{ type: "function", function: { name: "f" } }];
    const { messages } = await calls.outcome(core, "complete", { ...hello, tools });
    expect(saidIn(messages as LLMResponse[])).toBe("plain");
    const again = await calls.outcome(core, "complete", { ...hello, tools });
    expect(again.metadata.get("cache-status")).toBe(miss);
  });

  const failure = new LintelError("upstream_failed", "no");

  test.each<[string, Handle<"chat">]>([
    ["an answer that breaks off", breaksAfter(failure, "a")],
    [
      "one that nobody says the end of",
      async function* () {
        yield [piece("a")];
      },
    ],
    [
      "one that was filtered",
      async function* () {
        yield [piece("a"), piece("", "content_filter", [1, 1])];
      },
    ],
    [
      "one that says nothing",
      async function* () {
        yield [thought("Hm"), piece("", "stop", [1, 1])];
      },
    ],
    [
      "one that can't be written down",
      async function* () {
        yield [piece("a"), piece("", "stop", [2 ** 33, 1])];
      },
    ],
    ["one that is larger than may be", says("x".repeat(500), "x".repeat(501))],
    ["one that is a little larger with all that belongs to it", says("x".repeat(1000))],
  ])("%s", async (_, handle) => {
    for (const method of ["chat", "complete"] as const) {
      const { ask, backend } = caching(handle);
      const [first, again] = [await ask({}, {}, method), await ask({}, {}, method)];
      expect(again.code).toBe(first.code);
      expect([first.status, again.status]).toEqual([miss, miss]);
      expect(backend.asked).toHaveLength(2);
    }
  });

  test("what the caller did not wait for", async () => {
    const { handle, aborted } = hangsAfter("a");
    const { core, ask, backend } = caching(async function* (call) {
      yield* backend.asked.length === 1 ? handle(call) : says("b")(call);
    });
    const caller = new Cancellation();
    const left = calls.outcome(core, "chat", hello, { signal: caller });
    await settled();
    caller.abort(undefined);
    expect((await left).code).toBe("cancelled");
    await aborted;
    expect(await ask()).toMatchObject({ code: "ok", status: miss });
  });
});

test("an answer that is kept counts as a call, and takes no tokens and no money", async () => {
  const records: UsageRecord[] = [];
  const prices = [{ model: "*", input: 1_000_000, output: 1_000_000 }];
  const caller: CallerLimits = { requestsPerMinute: 3, tokensPerMinute: 10_000 };
  const { ask } = caching(
    undefined,
    {},
    {
      usage: { prices, sink: { keep: async (record) => void records.push(record) } },
      limits: { settings: { caller, models: [] }, prices, store: memoryLimits() },
    },
  );
  const left = async (method: "chat" | "complete") => {
    const { code, metadata } = await ask({}, {}, method);
    const remaining = (what: string) => metadata.get(`x-ratelimit-remaining-${what}`);
    return [code, remaining("requests"), Number(remaining("tokens"))] as const;
  };
  const [, , before] = await left("complete");
  // 9 of what the first one reserved were taken; each reserves as much again.
  const after = before + (10_000 - before) - 9 - (10_000 - before);
  expect(await left("complete")).toEqual(["ok", "1", after]);
  expect(await left("chat")).toEqual(["ok", "0", after]);
  expect((await left("chat"))[0]).toBe("rate_limited");
  const taken = { promptTokens: 7, completionTokens: 2, attempts: 1, spend: 9e9 };
  const none = { promptTokens: 0, completionTokens: 0, attempts: 0, spend: 0, backend: undefined };
  expect(records.filter(({ outcome }) => outcome === "ok")).toMatchObject([taken, none, none]);
});

test.each([
  ["is slow to say so", Promise.resolve(undefined)],
  ["has something else", Buffer.from([1, 2, 3])],
  [
    "has something that is no answer",
    toBinary(LLMResponseSchema, { ...piece("Hi", "stop"), created: 2 ** 32 - 1 }),
  ],
])("where the store %s the model is asked", async (_, found) => {
  const store: AnswerCache = { get: () => found, put: () => {}, close: async () => {} };
  const { ask } = caching(undefined, {}, { cache: store });
  expect(await ask()).toMatchObject({ code: "ok", status: miss });
});

test("a store that takes its time has its answer given", async () => {
  const memory = memoryCache(1_000_000);
  const store = { ...memory, get: async (name: string) => memory.get(name) };
  const { ask } = caching(undefined, {}, { cache: store });
  expect((await ask()).status).toBe(miss);
  expect(await ask({}, {}, "chat")).toMatchObject({ code: "ok", status: hit });
});
