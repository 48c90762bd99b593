import { afterAll, beforeAll, describe, expect, it, onTestFinished, vi } from "vitest";
import { periodAt } from "../../../src/core/limits/period.js";
import { type BudgetPeriod, budgetPeriods } from "../../../src/core/limits/settings.js";
import type { Claim } from "../../../src/core/limits/store.js";
import { silent } from "../../../src/core/log.js";
import { TimeZone } from "../../../src/core/time-zone.js";
import { RedisLimits } from "../../../src/state/limits/redis.js";
import { RedisConnection } from "../../../src/state/redis/connection.js";
import { coreOf, run } from "../../support/core.js";
import { type RedisServer, redisBinary, redisServers, startRedis } from "../../support/redis.js";
import { backend, gate, hello } from "../../support/routing.js";
import { limitContract } from "./contract.js";

/** Milliseconds to wait for an answer: on a busy machine it comes late, and else each would count for itself. */
const timeoutMs = 30_000;

describe.skipIf(!redisBinary).each(redisServers)("limits in %s", (_, binary) => {
  let server: RedisServer;
  beforeAll(async () => {
    server = await startRedis({ binary });
  });
  afterAll(() => server.close());

  limitContract("for all replicas", async (clock) => {
    const opened: RedisConnection[] = [];
    await Promise.all(
      [0, 1, 2].map(async () => {
        const connection = new RedisConnection({ url: server.url, timeoutMs }, silent);
        await connection.settled(timeoutMs);
        opened.push(connection);
      }),
    );
    let next = 0;
    const stores = opened.map((c) => new RedisLimits(c, { clock: () => clock.now }));
    return {
      replica: () => stores[next++ % stores.length] as (typeof stores)[number],
      async arrived() {
        // Answers come in the order of the questions.
        await Promise.all(opened.map(({ client }) => client.ping()));
      },
      async close() {
        await Promise.all(stores.map((store) => store.close()));
        await Promise.all(opened.map((connection) => connection.close()));
      },
    };
  });

  async function opened(keyPrefix: string, clock?: () => number, zone?: TimeZone) {
    const connection = new RedisConnection({ url: server.url, keyPrefix, timeoutMs }, silent);
    await connection.settled(timeoutMs);
    const store = new RedisLimits(connection, { clock, zone });
    onTestFinished(async () => {
      await store.close();
      await connection.close();
    });
    return { client: connection.client, store };
  }
  const budget = (period: BudgetPeriod, amount = 1): Claim => ({
    counter: {
      key: `spend-${period}`,
      span: { type: "calendar", period },
      limit: 10,
      estimated: true,
    },
    amount,
  });

  it("leaves nothing of a call that was refused, nor of who looks", async () => {
    const { client, store } = await opened("refused:");
    const busy: Claim = {
      counter: { key: "busy", span: { type: "running" }, limit: 0, estimated: false },
      amount: 1,
    };
    const { standings } = await store.reserve([budget("month"), busy]);
    expect(standings.map(({ remaining }) => remaining)).toEqual([10, 0]);
    await store.peek([budget("month").counter, busy.counter]);
    expect(await client.keys("refused:{limits}*")).toEqual([]);
  });

  it("lets all that it keeps expire", async () => {
    const { client, store } = await opened("expiring:");
    const counted = (key: string, span: Claim["counter"]["span"], estimated: boolean): Claim => ({
      counter: { key, span, limit: 10, estimated },
      amount: 4,
    });
    const claims = [
      budget("month", 4),
      counted("tokens", { type: "sliding", ms: 60_000 }, true),
      counted("requests", { type: "sliding", ms: 60_000 }, false),
      counted("busy", { type: "running" }, false),
    ];
    /** Names of what is kept, all of which expires. */
    const expiring = async () => {
      const keys = await client.keys("expiring:{limits}*");
      for (const key of keys) {
        expect([key, await client.pttl(key)]).toEqual([key, expect.toSatisfy((ms) => ms > 0)]);
      }
      return keys.map((key) => key.split("{limits}:")[1]?.replace(/^r:.*/, "reservation")).sort();
    };
    const verdict = await store.reserve(claims);
    if (!verdict.granted) throw new Error("refused");
    const counters = ["claims:tokens", "requests", "spend-month", "tokens"];
    expect(await expiring()).toEqual(
      ["busy", "claims:spend-month", ...counters, "reservation"].sort(),
    );
    // Evicted, by a store that was told it may.
    await client.del("expiring:{limits}:spend-month", "expiring:{limits}:tokens");
    store.settle(verdict.reservation, [6, 6, 4, 1]);
    await client.ping();
    expect(await expiring()).toEqual(counters);
  });

  it("keeps what is counted for as long as it counts, whenever in its step that was", async () => {
    const start = 60_000_000;
    const clock = { now: start };
    const { client, store } = await opened("lasting:", () => clock.now);
    const tokens: Claim = {
      counter: { key: "tokens", span: { type: "sliding", ms: 60_000 }, limit: 10, estimated: true },
      amount: 1,
    };
    const key = "lasting:{limits}:tokens";
    const call = () => store.reserve([tokens, budget("hour")]);
    /** The life of a key, said again with the next call or not. */
    const life = async (key: string) => {
      await client.pexpire(key, 500);
      await call();
      return client.pttl(key);
    };
    await call();
    // A second of the store's time may have passed since the call, and not more.
    expect(await client.pttl(key)).toBeGreaterThan(61_000);
    expect(await client.pttl("lasting:{limits}:claims:tokens")).toBeGreaterThan(61_000);
    const day = 86_400_000;
    const ofHour = "lasting:{limits}:spend-hour";
    expect(await client.pttl(ofHour)).toBeGreaterThan(day + 1_000_000);
    expect(await life(key)).toBeLessThanOrEqual(500);
    expect(await life(ofHour)).toBeLessThanOrEqual(500);
    // A new step, one that another call of a clock that goes behind ours began, and a new hour.
    clock.now = start + 1000;
    expect(await life(key)).toBeGreaterThan(61_000);
    clock.now = start - 5000;
    expect(await life(key)).toBeGreaterThan(61_000 + 6000);
    expect(await life(key)).toBeGreaterThan(61_000 + 6000);
    clock.now = start + 2 * 3_600_000;
    expect(await life(ofHour)).toBeGreaterThan(day);
  });

  it("keeps a lifetime for ever, but not what calls of a gateway that was killed had reserved", async () => {
    const clock = { now: 60_000_000 };
    const { client, store } = await opened("life:", () => clock.now);
    const { counter } = budget("lifetime");
    const left = async () => (await store.peek([counter]))[0]?.remaining;
    const ended = await store.reserve([budget("lifetime", 4)]);
    const long = await store.reserve([budget("lifetime", 2)]);
    if (!ended.granted || !long.granted) throw new Error("refused");
    store.settle(ended.reservation, [3]);
    expect((await store.reserve([budget("lifetime", 5)])).granted).toBe(true);
    expect(await left()).toBe(0);
    expect(await client.pttl("life:{limits}:spend-lifetime")).toBe(-1);
    expect(await client.pttl("life:{limits}:claims:spend-lifetime")).toBeGreaterThan(0);
    clock.now += 2 * 3_600_000;
    expect(await left()).toBe(7);
    // One that ran longer than that counts all the same, also where its end waits a day for the store.
    const [kept = ""] = await client.keys("life:{limits}:r:*");
    expect(await client.pttl(kept)).toBeGreaterThan(23 * 3_600_000);
    store.settle(long.reservation, [2]);
    expect(await left()).toBe(5);
  });

  it("counts on with what gateways before it have counted, and they with what it has", async () => {
    const now = 60_000_000;
    const { client, store } = await opened("form:", () => now);
    const large = 2 ** 52;
    const counter = (key: string, span: Claim["counter"]["span"]): Claim => ({
      counter: { key, span, limit: 2 ** 53 - 1, estimated: true },
      amount: large,
    });
    const claims = [
      counter("tokens", { type: "sliding", ms: 60_000 }),
      counter("spend", { type: "calendar", period: "hour" }),
    ];
    const there = async () => {
      const names = ["tokens", "claims:tokens", "spend", "claims:spend"];
      const all = await Promise.all(names.map((name) => client.hgetall(`form:{limits}:${name}`)));
      return Object.fromEntries(all.map((fields, i) => [names[i], fields]));
    };
    const of = (amount: number, step = "60000") => ({
      t: String(amount),
      f: step,
      [step]: String(amount),
    });
    const hour = String(16 * 3_600_000);
    await client.hset("form:{limits}:tokens", { t: "4", f: "59990", "59990": "3", "60000": "1" });
    await client.hset("form:{limits}:spend", { s: hour, u: "5" });
    const verdict = await store.reserve(claims);
    if (!verdict.granted) throw new Error("refused");
    expect(verdict.standings.map(({ remaining }) => remaining)).toEqual([large - 5, large - 6]);
    expect(await there()).toEqual({
      tokens: { t: String(large + 4), f: "59990", "59990": "3", "60000": String(large + 1) },
      "claims:tokens": of(large),
      spend: { s: hour, u: String(large + 5) },
      "claims:spend": of(large, "1000"),
    });
    store.settle(verdict.reservation, [large - 1, 7]);
    await client.ping();
    expect(await there()).toEqual({
      tokens: { t: String(large + 3), f: "59990", "59990": "3", "60000": String(large) },
      "claims:tokens": of(0),
      spend: { s: hour, u: "12" },
      "claims:spend": of(0, "1000"),
    });
  });

  it("lets one of all hold a name, for as long as is wanted", async () => {
    const { client, store } = await opened("first:");
    const { store: other } = await opened("first:");
    const asked = [store, other, store].map((it, i) => it.hold("a", `holder ${i}`, 5000));
    expect((await Promise.all(asked)).filter(Boolean)).toHaveLength(1);
    expect(await client.pttl("first:{limits}:first:a")).toBeGreaterThan(0);
    expect(await other.hold("b", "one", 5000.5)).toBe(true);
    // Who holds it, wherever it asks, may hold it longer.
    expect(await store.hold("b", "one", 60_000)).toBe(true);
    expect(await client.pttl("first:{limits}:first:b")).toBeGreaterThan(5001);
    other.release("b", "one");
    await vi.waitFor(async () => expect(await store.hold("b", "two", 5000)).toBe(true));
    expect(await other.hold("b", "one", 60_000)).toBe(false);
    // Who does not hold it has nothing to give back, and nothing to keep.
    other.release("b", "one");
    other.keep("b", "one", 60_000);
    await other.close();
    expect(await store.hold("b", "three", 5000)).toBe(false);
    expect(await client.pttl("first:{limits}:first:b")).toBeLessThanOrEqual(5000);
  });

  it("asks nothing at the end of a call of which there is nothing to put right", async () => {
    const { client, store } = await opened("once:");
    const counter = { key: "requests", limit: 10, estimated: false } as const;
    const claim: Claim = {
      counter: { ...counter, span: { type: "sliding", ms: 60_000 } },
      amount: 1,
    };
    const verdict = await store.reserve([claim]);
    if (!verdict.granted) throw new Error("refused");
    const asked = vi.spyOn(client, "call");
    store.settle(verdict.reservation, [1]);
    expect(asked).not.toHaveBeenCalled();
    expect(await client.keys("once:{limits}*")).toEqual(["once:{limits}:requests"]);
  });

  it("knows the calendar as the gateway does", async () => {
    const clock = { now: 0 };
    const { store } = await opened("calendar:", () => clock.now);
    const times = [0, 1, 100, 399, 400].flatMap((years) =>
      [0, 1, 2, 3, 11, 12].flatMap((month) =>
        [-1, 0].map((ms) => Date.UTC(1970 + years, month, 1, 0, 0, 0, ms)),
      ),
    );
    for (const now of times.filter((time) => time > 0).sort((a, b) => a - b)) {
      clock.now = now;
      const { standings } = await store.reserve(budgetPeriods.map((period) => budget(period)));
      const ends = standings.map(({ resetMs }) => now + resetMs);
      expect([now, ...ends]).toEqual([
        now,
        ...budgetPeriods.map((period) => periodAt(period, now).end),
      ]);
    }
  });

  it.each([
    "Europe/Berlin",
    "America/Havana",
    "Asia/Kolkata",
    "Africa/Casablanca",
    "America/St_Johns",
  ])("knows the calendar of %s as the gateway does", async (name) => {
    const zone = new TimeZone(name);
    const clock = { now: 0 };
    const { store } = await opened(`${name}:`, () => clock.now, zone);
    const changes = zone
      .between(Date.UTC(2009, 0), Date.UTC(2028, 0))
      .flatMap(({ from }) => (Number.isFinite(from) ? [from] : []));
    const around = [-24, -2, -1, 0, 1, 2, 24].flatMap((hours) => [
      hours * 3_600_000 - 1,
      hours * 3_600_000 + 900_000,
    ]);
    const last = changes.length > 0 ? changes : [Date.UTC(2026, 0, 31, 18, 30)];
    const times = last.slice(0, 24).flatMap((change) => around.map((ms) => change + ms));
    for (const now of times.sort((a, b) => a - b)) {
      clock.now = now;
      const peeked = await store.peek(budgetPeriods.map((period) => budget(period).counter));
      const ends = peeked.map((standing) => now + (standing?.resetMs ?? 0));
      expect([now, ...ends]).toEqual([
        now,
        ...budgetPeriods.map((period) => periodAt(period, now, zone).end),
      ]);
    }
  });

  it.each([
    ["UTC", "America/New_York"],
    ["America/New_York", "Europe/Berlin"],
    ["Europe/Berlin", "UTC"],
  ])("goes on with what was used by the calendar of %s in that of %s", async (before, after) => {
    const now = Date.UTC(2026, 10, 18, 16);
    const periods = ["day", "week", "month"] as const;
    const claims = periods.map((period) => budget(period, 4));
    const prefix = `${before}-${after}:`;
    const first = (await opened(prefix, () => now, new TimeZone(before))).store;
    const { client, store } = await opened(prefix, () => now, new TimeZone(after));
    await first.reserve(claims);
    const then = await store.reserve(claims);
    expect(then.standings.map(({ remaining }) => remaining)).toEqual([2, 2, 2]);
    // And the other way round, while gateways are restarted one after the other.
    const again = await first.peek(claims.map(({ counter }) => counter));
    expect(again.map((standing) => standing?.remaining)).toEqual([2, 2, 2]);
    const zone = new TimeZone(after);
    const starts = await Promise.all(
      periods.map((period) => client.hget(`${prefix}{limits}:spend-${period}`, "s")),
    );
    expect(starts).toEqual(periods.map((period) => `${periodAt(period, now, zone).start}`));
  });

  it("takes the time from the store, whatever a gateway's clock says", async () => {
    const { store } = await opened("clock:");
    expect((await store.reserve([budget("month", 10)])).granted).toBe(true);
    vi.useFakeTimers({ toFake: ["Date"], now: Date.now() + 400 * 86_400_000 });
    onTestFinished(() => void vi.useRealTimers());
    expect((await store.reserve([budget("month")])).granted).toBe(false);
    vi.useRealTimers();
    expect((await store.reserve([budget("month")])).granted).toBe(false);
  });

  it("goes on where its own clock was set back, and does not begin anew", async () => {
    const clock = { now: Date.UTC(2027, 4, 1) };
    const { store } = await opened("back:", () => clock.now);
    const left = async () => (await store.reserve([budget("month", 1)])).standings[0];
    expect(await left()).toEqual({ remaining: 9, resetMs: 31 * 86_400_000 });
    clock.now -= 1;
    expect(await left()).toEqual({ remaining: 8, resetMs: 31 * 86_400_000 + 1 });
    clock.now = Date.UTC(2026, 4, 1);
    expect(await left()).toEqual({ remaining: 7, resetMs: 31 * 86_400_000 });
    clock.now = Date.UTC(2026, 5, 1);
    expect(await left()).toEqual({ remaining: 9, resetMs: 30 * 86_400_000 });
  });

  it("knows what a call claimed for as long as the call may last", async () => {
    const { client, store } = await opened("long:");
    const hours = 3_600_000;
    const answer = gate();
    const core = coreOf(
      [backend("a", answer.handle)],
      {
        models: [{ name: "m", targets: [{ backend: "a" }], timeouts: { total: 30 * hours } }],
        totalTimeoutMs: 2 * hours,
      },
      {
        limits: { settings: { global: { tokensPerMinute: 1000 }, models: [] }, prices: [], store },
      },
    );
    const call = run(core, "chat", hello);
    await vi.waitFor(() => expect(answer.begun).toBe(1));
    const [key = ""] = await client.keys("long:*:r:*");
    expect(await client.pttl(key)).toBeGreaterThan(30 * hours);
    answer.open();
    await call;
  });
});
