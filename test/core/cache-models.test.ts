/** Models and callers of answers that are kept, around the real core. */
import { afterEach, beforeEach, describe, expect, test, vi } from "vitest";
import type { AnswerCache } from "../../src/core/cache/store.js";
import type { Handle } from "../../src/core/call.js";
import { LintelError } from "../../src/core/errors.js";
import type { ModelSettings } from "../../src/core/settings.js";
import { memoryCache } from "../../src/state/cache/memory.js";
import { caching, hit, hour, miss, saidIn } from "../support/caching.js";
import * as calls from "../support/calls.js";
import { settled } from "../support/clock.js";
import { coreOf } from "../support/core.js";
import { chatModel } from "../support/models.js";
import { hello } from "../support/routing.js";
import { paints, piece, says, scripted } from "../support/scripted.js";

beforeEach(() => void vi.useFakeTimers({ toFake: ["Date"], now: Date.UTC(2026, 0, 1) }));
afterEach(() => void vi.useRealTimers());

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
