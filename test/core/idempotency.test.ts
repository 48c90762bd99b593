/** Calls with a key that go on without their callers, as those see it who watch and who end the gateway. */
import { describe, expect, onTestFinished, test, vi } from "vitest";
import type { Handle } from "../../src/core/call.js";
import { type CallSignal, Cancellation } from "../../src/core/cancellation.js";
import type { CoreParts } from "../../src/core/core.js";
import { invalidFields, LintelError } from "../../src/core/errors.js";
import type { IdempotencyStore } from "../../src/core/idempotency/store.js";
import type { CoreSettings } from "../../src/core/settings.js";
import type { UsageRecord } from "../../src/core/usage/record.js";
import { MemoryIdempotency } from "../../src/state/idempotency/memory.js";
import { CallMetrics } from "../../src/telemetry/call-metrics.js";
import { Watchers } from "../../src/telemetry/watchers.js";
import * as calls from "../support/calls.js";
import { settled } from "../support/clock.js";
import { coreOf } from "../support/core.js";
import { backend, gate, hello } from "../support/routing.js";
import { paints, piece, scripted } from "../support/scripted.js";

const newStore = (maxAnswerBytes = 1_000_000) =>
  new MemoryIdempotency({ ttlMs: 3_600_000, maxAnswerBytes, maxBytes: 10_000_000 });

/** A core before a backend whose answers wait, and a call with a key whose caller can leave. */
function lingering(
  store: IdempotencyStore = newStore(),
  parts: Partial<CoreParts> = {},
  answer = gate(),
) {
  const records: UsageRecord[] = [];
  const core = coreOf(
    [backend("a", answer.handle)],
    {},
    {
      idempotency: { store, lingerMs: 3_600_000 },
      usage: { prices: [], sink: { keep: async (record) => void records.push(record) } },
      ...parts,
    },
  );
  const caller = new Cancellation();
  const call = calls.outcome(core, "chat", hello, { signal: caller, idempotencyKey: "k" });
  return {
    answer,
    records,
    core,
    async leave() {
      caller.abort(undefined);
      return (await call).code;
    },
  };
}

test("what a call does after its caller left is told when it has done it", async () => {
  const metrics = new CallMetrics(new Map());
  const lines: object[] = [];
  const note = (fields: object) => void lines.push(fields);
  const { answer, core, leave } = lingering(newStore(), {
    telemetry: new Watchers([metrics]),
    log: { debug: note, info: note, warn: note, error: note },
  });
  const points = (name: string) =>
    metrics.instruments.map((it) => it.read()).find((it) => it.name === name)?.points;
  await settled();
  expect(await leave()).toBe("cancelled");
  await settled();
  expect([lines, points("lintel.requests")]).toEqual([[], []]);
  answer.open();
  await core.idle();
  const outcome = (code: string) => ({
    value: 1,
    attributes: expect.objectContaining({ "lintel.outcome": code }),
  });
  // The caller saw it so.
  expect(points("lintel.requests")).toEqual([outcome("cancelled")]);
  expect(points("lintel.attempts")).toEqual([outcome("ok")]);
  expect(points("gen_ai.client.token.usage")).toMatchObject([{ sum: 7 }, { sum: 1 }]);
  expect(lines).toMatchObject([{ code: "cancelled", attempts: 1, completionTokens: 1 }]);
});

test("a call that goes on without its caller has no more time than any other", async () => {
  vi.useFakeTimers({ toFake: ["setTimeout", "clearTimeout"] });
  onTestFinished(() => void vi.useRealTimers());
  const { answer, records, core, leave } = lingering();
  await settled();
  await leave();
  expect(answer.signals[0]?.aborted).toBe(false);
  // Less than it might go on for.
  vi.advanceTimersByTime(3_000_000);
  await core.idle();
  expect(answer.signals[0]?.reason).toMatchObject({ code: "timeout" });
  expect(records).toMatchObject([{ outcome: "timeout" }]);
});

describe("while the gateway ends", () => {
  test("a call whose caller leaves does not go on, and is over when it says so", async () => {
    const { answer, records, core, leave } = lingering();
    await settled();
    const drained = core.drain();
    expect(await leave()).toBe("cancelled");
    await drained;
    expect(answer.signals[0]?.aborted).toBe(true);
    expect(records).toMatchObject([{ outcome: "cancelled" }]);
  });

  test("a call that began before, and was asked about its key meanwhile, does not go on either", async () => {
    const store = newStore();
    const looking = calls.gate();
    const { answer, records, core, leave } = lingering({
      open: async (question) => {
        await looking.opened;
        return store.open(question);
      },
      close: () => store.close(),
    });
    await settled();
    const drained = core.drain();
    looking.open();
    await settled();
    expect(answer.signals).toHaveLength(1);
    expect(await leave()).toBe("cancelled");
    await drained;
    expect(answer.signals[0]?.aborted).toBe(true);
    expect(records).toMatchObject([{ outcome: "cancelled" }]);
  });

  test("one that goes on without its caller is aborted, also before a drain", async () => {
    const { answer, core, leave } = lingering();
    await settled();
    await leave();
    core.abort();
    await core.idle();
    expect(answer.signals[0]?.reason).toMatchObject({ code: "shutting_down" });
  });
});

test("an answer that is refused on its way ends the work on the rest of it", async () => {
  const signals: CallSignal[] = [];
  const streamTextToImage: Handle<"streamTextToImage"> = async function* (call) {
    signals.push(call.signal);
    yield* paints(1)(call);
  };
  const sanitize = () => {
    throw new LintelError("upstream_failed", "the model server made a broken image");
  };
  const idempotency = { store: newStore(), lingerMs: 0 };
  const core = coreOf([scripted({ streamTextToImage })], {}, { idempotency, sanitize });
  const asked = { prompt: "a", numImagesPerPrompt: 4 };
  const { code } = await calls.outcome(core, "streamTextToImage", asked, { idempotencyKey: "k" });
  expect([code, signals.map(({ aborted }) => aborted)]).toEqual(["upstream_failed", [true]]);
});

test("an answer that is kept is made whole, whether or not its caller reads", async () => {
  let made = 0;
  const chat: Handle<"chat"> = async function* () {
    for (; made < 10; made++) yield [piece("a")];
    yield [piece("", "stop", [7, made])];
  };
  const idempotency = { store: newStore(), lingerMs: 0 };
  const core = coreOf([backend("a", chat)], {}, { idempotency });
  const call = calls.start(core, "chat", hello, { idempotencyKey: "k" });
  const steps = call.messages[Symbol.asyncIterator]();
  await steps.next();
  await vi.waitFor(() => expect(made).toBe(10));
  const again = await calls.outcome(core, "chat", hello, { idempotencyKey: "k" });
  expect(again.metadata.get("idempotent-replayed")).toBe("true");
  expect(again.messages).toHaveLength(11);
  await steps.return?.();
});

describe("an answer that is too large to be kept", () => {
  const large = "x".repeat(2000);

  test("is made no further where its caller left", async () => {
    const { answer, records, core, leave } = lingering(newStore(1000), {}, gate(large));
    await settled();
    await leave();
    expect(answer.signals[0]?.aborted).toBe(false);
    answer.open();
    await core.idle();
    expect(answer.signals[0]?.aborted).toBe(true);
    expect(records).toMatchObject([{ outcome: "cancelled" }]);
  });

  test("ends where its caller reads no more, and leaves", async () => {
    const chat: Handle<"chat"> = async function* ({ signal }) {
      while (!signal.aborted) yield [piece(large)];
      throw signal.reason;
    };
    const idempotency = { store: newStore(1000), lingerMs: 3_600_000 };
    const core = coreOf([backend("a", chat)], {}, { idempotency });
    const call = calls.start(core, "chat", hello, { idempotencyKey: "k" });
    const steps = call.messages[Symbol.asyncIterator]();
    await steps.next();
    await settled();
    await steps.return?.();
    await core.idle();
  });

  test("is made no faster than its caller reads, and is whole", async () => {
    let made = 0;
    const chat: Handle<"chat"> = async function* () {
      for (; made < 100; made++) yield [piece(large)];
      yield [piece("", "stop", [7, made])];
    };
    const core = coreOf(
      [backend("a", chat)],
      {},
      { idempotency: { store: newStore(1000), lingerMs: 0 } },
    );
    const call = calls.start(core, "chat", hello, { idempotencyKey: "k" });
    const steps = call.messages[Symbol.asyncIterator]();
    let read = 0;
    for (let step = await steps.next(); !step.done; step = await steps.next()) {
      read++;
      await settled();
      expect(made - read).toBeLessThanOrEqual(2);
    }
    expect(read).toBe(101);
  });
});

test("a call whose caller left before it is known to be the first does not begin", async () => {
  const store = newStore();
  const asked = calls.gate();
  const slow: IdempotencyStore = {
    close: () => store.close(),
    async open(question) {
      await asked.opened;
      return store.open(question);
    },
  };
  const { answer, core, leave } = lingering(slow);
  await settled();
  await leave();
  asked.open();
  await settled();
  expect(answer.begun).toBe(0);
  // Who asks again is the first then.
  const again = calls.outcome(core, "chat", hello, { idempotencyKey: "k" });
  await settled();
  answer.open();
  expect(await again).toMatchObject({ code: "ok" });
  expect((await again).metadata.has("idempotent-replayed")).toBe(false);
});

describe("nothing is held of a repetition", () => {
  /** A core whose repetitions are watched: how many of them are being read. */
  function watched(parts: Partial<CoreParts> = {}, settings: Partial<CoreSettings> = {}) {
    const store = newStore();
    const reading = { now: 0 };
    const counting: IdempotencyStore = {
      close: () => store.close(),
      async open(question) {
        const opened = await store.open(question);
        if (opened.as !== "again") return opened;
        const parts = async function* () {
          reading.now++;
          try {
            yield* opened.parts;
          } finally {
            reading.now--;
          }
        };
        return { as: "again", parts: parts() };
      },
    };
    const idempotency = { store: counting, lingerMs: 0 };
    const core = coreOf([backend("a")], settings, { idempotency, ...parts });
    return { core, reading, key: { idempotencyKey: "k" } };
  }

  test.each(["complete", "chat"] as const)("of %s that has its answer", async (method) => {
    const { core, reading, key } = watched();
    const first = await calls.outcome(core, method, hello, key);
    const again = await calls.outcome(core, method, hello, key);
    expect(again.metadata.get("idempotent-replayed")).toBe("true");
    expect(again.messages).toEqual(first.messages);
    expect(reading.now).toBe(0);
  });

  test("whose caller leaves in the middle", async () => {
    const { core, reading, key } = watched();
    await calls.outcome(core, "chat", hello, key);
    const steps = calls.start(core, "chat", hello, key).messages[Symbol.asyncIterator]();
    await steps.next();
    expect(reading.now).toBe(1);
    await steps.return?.();
    await settled();
    expect(reading.now).toBe(0);
  });

  test("whose caller has lost the model", async () => {
    const models = [["m"], ["other"]];
    const find = () => ({ id: "alice", models: models.shift() ?? [] });
    const auth = { mode: "token", tokens: [] } as const;
    const { core, reading, key } = watched({ callers: [{ find }] }, { auth });
    expect((await calls.outcome(core, "chat", hello, key)).code).toBe("ok");
    expect((await calls.outcome(core, "chat", hello, key)).code).toBe("model_not_allowed");
    expect(reading.now).toBe(0);
  });
});

test("an answer that is given again is logged with who asks on whose behalf", async () => {
  const lines: object[] = [];
  const note = (fields: object) => void lines.push(fields);
  const core = coreOf(
    [backend("a")],
    {},
    {
      idempotency: { store: newStore(), lingerMs: 0 },
      log: { debug: note, info: note, warn: note, error: note },
    },
  );
  for (let i = 0; i < 2; i++) {
    await calls.outcome(core, "chat", { ...hello, user: "ann" }, { idempotencyKey: "k" });
  }
  expect(lines).toMatchObject([{ user: "ann" }, { user: "ann", replayed: true }]);
});

test("a key says nothing of a request that is wrong, nor of one that is only counted", async () => {
  const idempotency = { store: newStore(), lingerMs: 0 };
  const core = coreOf([backend("a")], {}, { idempotency });
  const key = { idempotencyKey: "k" };
  expect((await calls.outcome(core, "complete", hello, key)).code).toBe("ok");
  const defect = invalidFields([{ field: "top_p", message: "must be a finite number" }]);
  const wrong = await calls.outcome(core, "complete", { ...hello, model: "x" }, { ...key, defect });
  expect(wrong.code).toBe("invalid_fields");
  const counted = await calls.outcome(core, "countTokens", hello, key);
  expect(counted.error?.param).not.toBe("idempotency-key");
  expect(counted.metadata.has("idempotent-replayed")).toBe(false);
});

test("an answer of which nothing was kept is an error, and is not looked for again and again", async () => {
  let asked = 0;
  const store: IdempotencyStore = {
    open: () => {
      if (asked++ > 0) throw new Error("asked again");
      return { as: "again", parts: (async function* () {})() };
    },
    close: async () => {},
  };
  const { code } = await calls.outcome(
    coreOf([backend("a")], {}, { idempotency: { store, lingerMs: 0 } }),
    "chat",
    hello,
    { idempotencyKey: "k" },
  );
  expect(code).toBe("unavailable");
});
