/** Which answers are kept for who asks the same, around the real core. */
import { toBinary } from "@bufbuild/protobuf";
import { afterEach, beforeEach, describe, expect, test, vi } from "vitest";
import { type LLMResponse, LLMResponseSchema } from "../../gen/lintel/v1/chat_pb.js";
import type { AnswerCache } from "../../src/core/cache/store.js";
import type { Call, Handle } from "../../src/core/call.js";
import { Cancellation } from "../../src/core/cancellation.js";
import { LintelError } from "../../src/core/errors.js";
import type { CallerLimits } from "../../src/core/limits/settings.js";
import type { UsageRecord } from "../../src/core/usage/record.js";
import { memoryCache } from "../../src/state/cache/memory.js";
import { memoryLimits } from "../../src/state/limits/memory.js";
import { Watchers } from "../../src/telemetry/watchers.js";
import { caching, hit, hour, miss, saidIn } from "../support/caching.js";
import * as calls from "../support/calls.js";
import { settled } from "../support/clock.js";
import { coreOf } from "../support/core.js";
import { chatModel } from "../support/models.js";
import { fails, hello, inTurn } from "../support/routing.js";
import { breaksAfter, hangsAfter, piece, says, scripted, thought } from "../support/scripted.js";

beforeEach(() => void vi.useFakeTimers({ toFake: ["Date"], now: Date.UTC(2026, 0, 1) }));
afterEach(() => void vi.useRealTimers());

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

  test("who watches hears what came of it: of one that is too old, too", async () => {
    const heard: unknown[] = [];
    const end = ({ attributes }: Call) => void heard.push(attributes.cache);
    const { ask } = caching(undefined, {}, { telemetry: new Watchers([{ end }]) });
    await ask();
    vi.setSystemTime(Date.now() + 60_000);
    for (const control of ["max-age=60", "max-age=59", "no-cache", "no-store"]) {
      await ask({}, { control });
    }
    expect(heard).toEqual(["miss", "hit", "bypass", "bypass", "bypass"]);
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
