import { describe, expect, it } from "vitest";
import type { Claim, Counter } from "../../../src/core/limits/store.js";
import { memoryLimits } from "../../../src/state/limits/memory.js";
import { ofDay } from "../claims.js";
import { limitContract } from "./contract.js";

limitContract("limits in memory", async (clock) => {
  const store = memoryLimits({ clock: () => clock.now });
  return { replica: () => store, arrived: async () => {}, close: () => store.close() };
});

const perMinute = (key: string, limit = 10): Counter => ({
  key,
  span: { type: "sliding", ms: 60_000 },
  limit,
  estimated: false,
});

it("lets pass what is within the limit and above a replica's share, where nothing else counts", () => {
  const store = memoryLimits({ replicas: 3, clock: () => 0 });
  const ask = (amount: number) => {
    const span = { type: "sliding", ms: 60_000 } as const;
    return store.reserve([{ counter: { key: "k", span, limit: 30, estimated: false }, amount }]);
  };
  expect(ask(31)).toMatchObject({ granted: false, waitMs: Number.POSITIVE_INFINITY });
  expect(ask(30).granted).toBe(true);
  expect(ask(1)).toMatchObject({ granted: false, waitMs: 61_000 });
  expect(ask(30)).toMatchObject({ granted: false, waitMs: 61_000 });
});

it("forgets callers who do not come back", () => {
  let now = 0;
  const store = memoryLimits({ clock: () => now });
  // One who is refused leaves nothing to look at.
  store.reserve([{ counter: perMinute("caller", 0), amount: 1 }]);
  expect(store.size).toBe(0);
  for (let i = 0; i < 20_000; i++) {
    now += 100;
    store.reserve([{ counter: perMinute(`caller:${i}`), amount: 1 }]);
  }
  // About 600 of them were there within the last minute.
  expect(store.size).toBeLessThan(1400);
});

it("keeps nothing of counters that were only looked at", () => {
  const store = memoryLimits();
  store.peek([perMinute("caller:alice"), ofDay("caller:alice:images", 10)]);
  expect(store.size).toBe(0);
});

it("does not say how budgets stand while something of them is missing", () => {
  const store = memoryLimits({ clock: () => 0 });
  const counters = [perMinute("caller:alice"), ofDay("caller:alice:images", 10)];
  const left = () => store.peek(counters).map((it) => it?.remaining);
  const [first, second] = [store.expectMore(), store.expectMore()];
  expect(left()).toEqual([10, undefined]);
  first();
  first();
  expect(left()).toEqual([10, undefined]);
  second();
  expect(left()).toEqual([10, 10]);
});

it("forgets them also among many who are to be known for longer", () => {
  let now = Date.UTC(2026, 4, 5, 6);
  const store = memoryLimits({ clock: () => now });
  const ask = (counter: Counter) => store.reserve([{ counter, amount: 1 }]).granted;
  for (let i = 0; i < 5000; i++) ask(ofDay(`user:${i}`, 1));
  for (let i = 0; i < 20_000; i++) {
    now += 100;
    ask(perMinute(`caller:${i}`));
  }
  expect(store.size).toBeLessThan(10_000);
  for (let i = 0; i < 5000; i++) expect(ask(ofDay(`user:${i}`, 1))).toBe(false);
});

it("divides limits among replicas that can't ask each other", () => {
  const store = memoryLimits({ clock: () => 0, replicas: 3 });
  const count = (limit: number) => {
    const counter = perMinute(`limit-${limit}`, limit);
    return Array.from({ length: 20 }, () => store.reserve([{ counter, amount: 1 }])).filter(
      (verdict) => verdict.granted,
    ).length;
  };
  expect([count(10), count(2), count(0)]).toEqual([3, 1, 0]);
});

it("goes on with what was counted before a restart", () => {
  const now = Date.UTC(2026, 4, 5, 6);
  const images = ofDay("caller:alice:images", 10);
  const before = { start: Date.UTC(2026, 4, 5), used: 7 };
  const after = memoryLimits({ clock: () => now });
  after.restore(images, before);
  expect(after.reserve([{ counter: images, amount: 4 }]).granted).toBe(false);
  expect(after.reserve([{ counter: images, amount: 3 }]).granted).toBe(true);
  const nextDay = memoryLimits({ clock: () => now + 86_400_000 });
  nextDay.restore(images, before);
  expect(nextDay.reserve([{ counter: images, amount: 10 }]).granted).toBe(true);
});

it("tells what was used by calls that began by a moment, as they end, and by no later ones", () => {
  const now = Date.UTC(2026, 4, 5, 6);
  const store = memoryLimits({ clock: () => now });
  const counter = ofDay("caller:alice:images", 100);
  const reserved = () => {
    const verdict = store.reserve([{ counter, amount: 4 }]);
    if (!verdict.granted) throw new Error("refused");
    return verdict.reservation;
  };
  store.settle(reserved(), [1]);
  const runs = reserved();
  const snapshot = store.snapshot();
  const used = () => snapshot.entries.get(counter.key)?.used;
  expect(used()).toBe(1);
  const later = reserved();
  store.settle(later, [3]);
  expect(used()).toBe(1);
  store.settle(runs, [2]);
  expect(used()).toBe(3);
  snapshot.end();
  store.settle(reserved(), [1]);
  expect(used()).toBe(3);
});

it("counts a minute, and the days of the calendar, where the clock is set", () => {
  const noon = Date.UTC(2026, 4, 5, 12);
  const clock = { wall: noon, steady: noon };
  const store = memoryLimits({ clock: () => clock.wall, steady: () => clock.steady });
  const calls = { counter: perMinute("caller:alice", 2), amount: 1 };
  const perDay: Counter = { ...calls.counter, key: "d", span: { type: "calendar", period: "day" } };
  const images = { counter: perDay, amount: 1 };
  const granted = (claim: Claim) => store.reserve([claim]).granted;
  expect([granted(calls), granted(calls), granted(calls)]).toEqual([true, true, false]);
  clock.wall -= 3_600_000;
  expect(store.reserve([calls])).toMatchObject({ granted: false, waitMs: 61_000 });
  clock.steady += 61_000;
  expect([granted(calls), granted(calls), granted(calls)]).toEqual([true, true, false]);
  expect([granted(images), granted(images), granted(images)]).toEqual([true, true, false]);
  clock.wall += 86_400_000;
  expect([granted(calls), granted(images)]).toEqual([false, true]);
});

describe("a budget, after the clock was set back", () => {
  const noon = Date.UTC(2026, 4, 5, 12);
  const hour = 3_600_000;
  const perDay = ofDay("caller:alice:spend", 10);
  const opened = () => {
    const clock = { wall: noon, steady: 0 };
    return { clock, store: memoryLimits({ clock: () => clock.wall, steady: () => clock.steady }) };
  };
  const reserved = (store: ReturnType<typeof memoryLimits>, amount: number) => {
    const verdict = store.reserve([{ counter: perDay, amount }]);
    if (!verdict.granted) throw new Error("refused");
    return verdict.reservation;
  };

  it.each([
    ["over midnight", 13 * hour],
    ["by a year", 365 * 24 * hour],
  ])("%s: reservations are given back", (_words, back) => {
    const { clock, store } = opened();
    store.settle(reserved(store, 2), [2]);
    clock.wall -= back;
    for (let i = 0; i < 20; i++) {
      clock.steady += 1000;
      store.settle(reserved(store, 8), [0]);
    }
    expect(store.reserve([{ counter: perDay, amount: 9 }]).granted).toBe(false);
  });

  it("by a year: it begins anew when the day of then is over", () => {
    const { clock, store } = opened();
    store.settle(reserved(store, 10), [10]);
    clock.wall -= 365 * 24 * hour;
    const refused = store.reserve([{ counter: perDay, amount: 1 }]);
    expect(refused).toMatchObject({ granted: false, waitMs: 12 * hour });
    clock.wall += 12 * hour;
    clock.steady += 12 * hour;
    reserved(store, 10);
  });

  it("what was counted in a period that is over is not given back to the next", () => {
    const { clock, store } = opened();
    const before = reserved(store, 10);
    clock.wall += 24 * hour;
    clock.steady += 24 * hour;
    reserved(store, 10);
    clock.wall -= 2 * hour;
    store.settle(before, [0]);
    expect(store.reserve([{ counter: perDay, amount: 1 }]).granted).toBe(false);
  });
});
