/** Calls for whole answers that ask the same at the same time. */
import { describe, expect, test } from "vitest";
import type { Handle } from "../../src/core/call.js";
import { Cancellation } from "../../src/core/cancellation.js";
import type { CoreParts } from "../../src/core/core.js";
import { LintelError } from "../../src/core/errors.js";
import type { UsageRecord } from "../../src/core/usage/record.js";
import { memoryCache } from "../../src/state/cache/memory.js";
import { caching, miss, someHit } from "../support/caching.js";
import * as calls from "../support/calls.js";
import { FakeClock, settled } from "../support/clock.js";
import { gate, hello } from "../support/routing.js";

const collapsed = "lintel; fwd=miss; collapsed";

/** A core whose model answers when it is told to. */
function waiting(parts: Partial<CoreParts> = {}, scope: "caller" | "all" = "caller") {
  const model = gate("Hi");
  const cache = { ttlMs: 3_600_000, scope, maxAnswerBytes: 1000 };
  const all = caching(model.handle as Handle<"chat">, { cache }, parts);
  /** Calls that wait, begun one after the other. */
  const several = async (count: number) => {
    const running = Array.from({ length: count }, () => all.ask());
    await settled();
    return running;
  };
  return { ...all, model, several };
}

const text = ({ messages }: Awaited<ReturnType<ReturnType<typeof caching>["ask"]>>) =>
  messages[0]?.choices[0]?.message?.content;

describe("ask the model once", () => {
  test("and all have its answer, each with an id of its own", async () => {
    const { several, model, ask } = waiting();
    const running = await several(3);
    expect(model.begun).toBe(1);
    model.open();
    const answers = await Promise.all(running);
    expect(answers.map(text)).toEqual(["Hi", "Hi", "Hi"]);
    expect(answers.map(({ status }) => status)).toEqual([miss, collapsed, collapsed]);
    expect(new Set(answers.map(({ messages }) => messages[0]?.id)).size).toBe(3);
    expect((await ask()).status).toEqual(someHit);
    expect(model.begun).toBe(1);
  });

  test("with a store that takes its time", async () => {
    const memory = memoryCache(1_000_000);
    const slow = { ...memory, get: async (name: string) => memory.get(name) };
    const { several, model } = waiting({ cache: slow });
    const running = await several(3);
    expect(model.begun).toBe(1);
    model.open();
    const statuses = (await Promise.all(running)).map(({ status }) => status);
    expect(statuses).toEqual([miss, collapsed, collapsed]);
  });

  test("and pay once", async () => {
    const records: UsageRecord[] = [];
    const sink = { keep: async (record: UsageRecord) => void records.push(record) };
    const { several, model } = waiting({ usage: { prices: [], sink } });
    const running = await several(2);
    model.open();
    await Promise.all(running);
    expect(records).toMatchObject([
      { outcome: "ok", completionTokens: 1, attempts: 1 },
      { outcome: "ok", completionTokens: 0, attempts: 0 },
    ]);
  });

  test("where the answer is too large to be kept, too", async () => {
    const model = gate("x".repeat(2000));
    const { ask } = caching(model.handle);
    const running = [ask(), ask()];
    await settled();
    model.open();
    expect((await Promise.all(running)).map(({ status }) => status)).toEqual([miss, collapsed]);
    const again = ask();
    await settled();
    model.open();
    expect((await again).status).toBe(miss);
  });
});

test("one that is asked anew is waited for, whatever becomes of the one before", async () => {
  const { ask, model } = waiting();
  const first = ask();
  await settled();
  const anew = ask({}, { control: "no-cache" });
  await settled();
  model.fail(new LintelError("upstream_failed", "no"));
  expect((await first).code).toBe("upstream_failed");
  const third = ask();
  await settled();
  expect(model.begun).toBe(2);
  model.open();
  expect((await anew).code).toBe("ok");
  expect(await third).toMatchObject({ code: "ok", status: collapsed });
});

describe("ask it each", () => {
  test("where they ask as different callers, unless these get each other's answers", async () => {
    for (const [scope, begun] of [
      ["caller", 2],
      ["all", 1],
    ] as const) {
      const { ask, model } = waiting({}, scope);
      const running = [ask(), ask({}, { credential: "other" })];
      await settled();
      expect(model.begun).toBe(begun);
      for (let i = 0; i < begun; i++) model.open();
      await Promise.all(running);
    }
  });

  test.each([
    ["no-cache", "lintel; fwd=request"],
    ["no-store", "lintel; fwd=request"],
    ["max-age=0", "lintel; fwd=request"],
    ["max-age=60", collapsed],
  ])("where one says %s", async (control, status) => {
    const { ask, model } = waiting();
    const first = ask();
    await settled();
    const second = ask({}, { control });
    await settled();
    expect(model.begun).toBe(status === collapsed ? 1 : 2);
    model.open();
    model.open();
    expect((await first).status).toBe(miss);
    expect(await second).toMatchObject({ code: "ok", status });
  });

  test("where one is a stream", async () => {
    const { ask, model } = waiting();
    const running = [ask({}, {}, "chat"), ask(), ask({}, {}, "chat")];
    await settled();
    expect(model.begun).toBe(3);
    for (let i = 0; i < 3; i++) model.open();
    const statuses = (await Promise.all(running)).map(({ status }) => status);
    expect(statuses).toEqual([miss, miss, miss]);
  });

  test("where the first one's answer is a failure", async () => {
    const { several, model } = waiting();
    const [first, ...others] = await several(3);
    model.fail(new LintelError("upstream_failed", "no"));
    expect(await first).toMatchObject({ code: "upstream_failed" });
    await settled();
    expect(model.begun).toBe(3);
    model.open();
    model.open();
    const answers = await Promise.all(others);
    expect(answers.map(({ code, status }) => [code, status])).toEqual([
      ["ok", miss],
      ["ok", miss],
    ]);
  });

  test("where its answer is nobody else's", async () => {
    const model = gate("");
    const { ask } = caching(model.handle);
    const running = [ask(), ask()];
    await settled();
    expect(model.begun).toBe(1);
    model.open();
    await settled();
    expect(model.begun).toBe(2);
    model.open();
    expect((await Promise.all(running)).map(({ status }) => status)).toEqual([miss, miss]);
  });
});

describe("where the first one", () => {
  test("leaves, the next one asks, and the others wait for it", async () => {
    const { core, several, model } = waiting();
    const caller = new Cancellation();
    const left = calls.outcome(core, "complete", hello, { signal: caller });
    const running = await several(3);
    caller.abort(undefined);
    expect((await left).code).toBe("cancelled");
    await settled();
    expect(model.begun).toBe(2);
    model.open();
    const statuses = (await Promise.all(running)).map(({ status }) => status);
    expect(statuses).toEqual([miss, collapsed, collapsed]);
  });

  test("leaves, and who would ask next has left, too, the one behind asks", async () => {
    const { core, several, model } = waiting();
    const callers = [new Cancellation(), new Cancellation()];
    const left = callers.map((signal) => calls.outcome(core, "complete", hello, { signal }));
    const running = await several(2);
    for (const caller of callers.reverse()) caller.abort(undefined);
    expect((await Promise.all(left)).map(({ code }) => code)).toEqual(["cancelled", "cancelled"]);
    await settled();
    expect(model.begun).toBe(2);
    model.open();
    const statuses = (await Promise.all(running)).map(({ status }) => status);
    expect(statuses).toEqual([miss, collapsed]);
  });

  test("waits for too long, the next one asks", async () => {
    const { core, several, model } = waiting({ clock: new FakeClock() });
    const late = calls.outcome(core, "complete", hello, { timeoutMs: 50 });
    const [next] = await several(1);
    expect((await late).code).toBe("timeout");
    await settled();
    expect(model.begun).toBe(2);
    model.open();
    expect(await next).toMatchObject({ code: "ok", status: miss });
  });
});

test("who leaves while another one is waited for is let go at once", async () => {
  const { core, several, model } = waiting();
  const [first] = await several(1);
  const caller = new Cancellation();
  const left = calls.outcome(core, "complete", hello, { signal: caller });
  await settled();
  caller.abort(undefined);
  expect((await left).code).toBe("cancelled");
  model.open();
  expect((await first)?.code).toBe("ok");
  await settled();
  expect(model.begun).toBe(1);
});
