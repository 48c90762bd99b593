/** Stores in memory, as a gateway opens them. */
import { describe, expect, it, onTestFinished, vi } from "vitest";
import { scopes } from "../../src/core/limits/counters.js";
import { periodAt } from "../../src/core/limits/period.js";
import type { Claim } from "../../src/core/limits/store.js";
import { type Logger, silent } from "../../src/core/log.js";
import { TimeZone } from "../../src/core/time-zone.js";
import type { UsageHistory } from "../../src/core/usage/history.js";
import { type Counting, openCounting } from "../../src/state/counting.js";
import { type MemoryLimitStore, memoryLimits } from "../../src/state/limits/memory.js";
import { PastUsage } from "../../src/state/limits/past.js";
import { ofDay } from "./claims.js";
import { images, settings } from "./counted.js";

describe("in memory", () => {
  const row = { caller: "alice", model: "m", calls: 2, promptTokens: 0, completionTokens: 0 };
  /** What users used is not asked for where nothing limits them, but for those whom tokens may limit. */
  const ofUsers: UsageHistory["ofUsers"] = async (_quantity, _from, _until, of) => {
    if (!of) throw new Error("no end user has a limit");
    return [];
  };
  const history: UsageHistory = {
    ofUsers,
    limited: async () => [],
    between: async () => [{ ...row, images: 7, spend: 0 }],
  };

  it("goes on with what was used before", async () => {
    const counting = await openCounting(settings, silent, history);
    const left = async () => (await counting.limits.peek([images(1).counter]))[0]?.remaining;
    expect(await left()).toBe(3);
    expect((await counting.limits.reserve([images(4)])).granted).toBe(false);
    expect((await counting.limits.reserve([images(3)])).granted).toBe(true);
    expect(await left()).toBe(0);
    await counting.close();
  });

  it("goes on with what was used since a day began by the clocks of a zone", async () => {
    const zone = new TimeZone("Asia/Tokyo");
    const asked: number[] = [];
    const between: UsageHistory["between"] = async (from) => {
      asked.push(from);
      return [{ ...row, images: 7, spend: 0 }];
    };
    const before = periodAt("day", Date.now(), zone);
    const counting = await openCounting({ ...settings, zone }, silent, { ...history, between });
    const { standings } = await counting.limits.reserve([images(1)]);
    const now = Date.now();
    const { start, end } = periodAt("day", now, zone);
    // Midnight in Tokyo may have come meanwhile.
    if (before.start === start) {
      expect(asked).toEqual([start]);
      expect(standings[0]?.remaining).toBe(2);
      expect(Math.abs(now + (standings[0]?.resetMs ?? 0) - end)).toBeLessThan(60_000);
    }
    await counting.close();
  });

  it("goes on with what a team's members used, by the limits of every team and its own", async () => {
    const rows = [
      { ...row, team: "red", images: 3, spend: 0 },
      { ...row, caller: "bob", team: "red", images: 2, spend: 0 },
      { ...row, caller: "cat", team: "blue", images: 1, spend: 0 },
      { ...row, caller: "dan", team: "", images: 9, spend: 0 },
    ];
    const of = (key: string, amount: number): Claim => ({ counter: ofDay(key, 10), amount });
    for (const limits of [
      { models: [], team: { imagesPerDay: 10 } },
      { models: [], teams: [{ team: "red", imagesPerDay: 10 }] },
      { models: [], team: { imagesPerDay: 10 }, teams: [{ team: "red", imagesPerDay: 9 }] },
    ]) {
      const between = async () => rows;
      const counting = await openCounting({ ...settings, limits }, silent, { ...history, between });
      const granted = async (claim: Claim) => (await counting.limits.reserve([claim])).granted;
      expect(await granted(of("team:red:images", 6))).toBe(false);
      expect(await granted(of("team:red:images", 5))).toBe(true);
      expect(await granted(of("team:blue:images", 10))).toBe(limits.team === undefined);
      // Of no team is no team's.
      expect(await granted(of("team::images", 10))).toBe(true);
      await counting.close();
    }
  });

  it("makes no counters for limits that nobody has", async () => {
    const rows = ["alice", "bob", "corp:carol", "gone"].map((caller) => ({ ...row, caller }));
    const counters: string[] = [];
    const store = memoryLimits();
    const watched: MemoryLimitStore = {
      ...store,
      restore(counter, entry) {
        counters.push(counter.key);
        store.restore(counter, entry);
      },
    };
    const past = new PastUsage(
      {
        ...history,
        between: async () => rows.map((one) => ({ ...one, images: 1, spend: 5 })),
        limited: async (limit) => (limit === "month" ? ["alice"] : []),
      },
      watched,
      silent,
    );
    const budget = { amount: 1, period: "lifetime" } as const;
    await past.restore(
      {
        limits: { models: [] },
        callersOwn: true,
        ofCallers: [
          { of: "callers", name: "bob", limits: { imagesPerDay: 1, requestsPerMinute: 1 } },
          { of: "issuers", name: "corp", limits: { budget } },
        ],
      },
      1000,
    );
    expect(counters).toEqual([
      "caller:bob:images",
      "caller:alice:spend-month",
      "caller:corp:carol:spend-lifetime",
    ]);
    past.close();
  });

  it("goes on with what end users used, and where a reload limits them", async () => {
    const key = `${scopes.user("alice", "u-1")}:images`;
    const left = async ({ limits }: Counting) =>
      (await limits.reserve([{ counter: ofDay(key, 10), amount: 0 }])).standings[0]?.remaining;
    const users: UsageHistory = {
      ...history,
      between: async () => [],
      ofUsers: async () => [{ caller: "alice", user: "u-1", used: 4 }],
    };
    const limited = { limits: { models: [], user: { imagesPerDay: 10 } }, callersOwn: false };
    const counting = await openCounting({ ...settings, ...limited }, silent, users);
    expect(await left(counting)).toBe(6);
    await counting.close();
    const later = await openCounting(settings, silent, users);
    expect(await left(later)).toBe(10);
    await later.change(limited).added;
    expect(await left(later)).toBe(6);
    await later.close();
  });

  it("looks after calls while it goes on with what very many end users used", async () => {
    const rows = Array.from({ length: 3500 }, (_, i) => ({ caller: "a", user: `${i}`, used: 4 }));
    const users: UsageHistory = { ...history, between: async () => [], ofUsers: async () => rows };
    const limited = { limits: { models: [], user: { imagesPerDay: 5 } }, callersOwn: false };
    let turns = 0;
    let next: NodeJS.Immediate | undefined;
    const turn = () => {
      turns++;
      next = setImmediate(turn);
    };
    turn();
    const counting = await openCounting({ ...settings, ...limited }, silent, users);
    clearImmediate(next);
    // To read them, and to count them.
    expect(turns).toBeGreaterThanOrEqual(6);
    for (const { caller, user } of rows) {
      const counter = ofDay(`${scopes.user(caller, user)}:images`, 5);
      const { granted, standings } = await counting.limits.reserve([{ counter, amount: 1 }]);
      expect([granted, standings[0]?.remaining]).toEqual([true, 0]);
    }
    await counting.close();
  });

  it("goes on with it also where that is read late, and counts what came meanwhile", async () => {
    vi.useFakeTimers({ toFake: ["setTimeout", "clearTimeout"] });
    onTestFinished(() => void vi.useRealTimers());
    const said: string[] = [];
    const say = (_: unknown, text?: string) => said.push(text ?? "");
    const log = { ...silent, warn: say, info: say } as Logger;
    let answer = () => {};
    const slow: UsageHistory = {
      ...history,
      between: async (from, until) => {
        await new Promise<void>((resolve) => {
          answer = resolve;
        });
        return history.between(from, until);
      },
    };
    const opening = openCounting(settings, log, slow);
    await vi.advanceTimersByTimeAsync(2000);
    const counting = await opening;
    const left = async () => (await counting.limits.peek([images(1).counter]))[0]?.remaining;
    expect((await counting.limits.reserve([images(2)])).granted).toBe(true);
    expect(await left()).toBeUndefined();
    answer();
    await vi.advanceTimersByTimeAsync(0);
    expect(await left()).toBe(1);
    expect((await counting.limits.reserve([images(2)])).granted).toBe(false);
    expect((await counting.limits.reserve([images(1)])).granted).toBe(true);
    expect(said).toEqual([
      "what was used before takes long to read: budgets and images per day begin at 0 until it is there",
      "what was used before counts in budgets and images per day now",
    ]);
    await counting.close();
  });

  it("is asked again where that can't be read, says so once, and counts then", async () => {
    vi.useFakeTimers({ toFake: ["setTimeout", "clearTimeout"] });
    onTestFinished(() => {
      vi.useRealTimers();
    });
    const said: string[] = [];
    const say = (_: unknown, text?: string) => said.push(text ?? "");
    const log = { ...silent, warn: say, info: say } as Logger;
    let failures = 2;
    const until: number[] = [];
    const failing: UsageHistory = {
      ...history,
      between: async (_: number, now: number) => {
        until.push(now);
        if (failures-- > 0) throw new Error("the database is away");
        return [{ ...row, images: 8, spend: 0 }];
      },
    };
    const counting = await openCounting(settings, log, failing);
    expect((await counting.limits.reserve([images(2)])).granted).toBe(true);
    const left = async () => (await counting.limits.peek([images(1).counter]))[0]?.remaining;
    await vi.advanceTimersByTimeAsync(10_000);
    expect((await counting.limits.reserve([images(1)])).granted).toBe(true);
    expect(await left()).toBeUndefined();
    await vi.advanceTimersByTimeAsync(10_000);
    expect(await left()).toBe(0);
    expect((await counting.limits.reserve([images(1)])).granted).toBe(false);
    // What was used since counts already.
    expect(new Set(until).size).toBe(1);
    expect(said).toEqual([
      "what was used before can't be read: budgets and images per day begin at 0 until it can",
      "what was used before counts in budgets and images per day now",
    ]);
    await counting.close();
  });

  describe("with other limits", () => {
    const used = (caller: string, images: number) => ({ ...row, caller, images, spend: 0 });
    const of = (caller: string, amount: number): Claim => {
      const claim = images(amount);
      return { ...claim, counter: { ...claim.counter, key: `caller:${caller}:images` } };
    };
    const left = async ({ limits }: Counting, caller: string) =>
      (await limits.reserve([of(caller, 0)])).standings[0]?.remaining;
    /** A call that begins, by an estimate; ends with what it is given. */
    const begin = async ({ limits }: Counting, caller: string, estimate: number) => {
      const verdict = await limits.reserve([of(caller, estimate)]);
      if (!verdict.granted) throw new Error("refused");
      return (took: number) => limits.settle(verdict.reservation, [took]);
    };
    const none = { limits: { models: [] }, callersOwn: false };
    const everyone = { limits: settings.limits, callersOwn: false };

    it("goes on with what was used under those before, each call once", async () => {
      let rows = [used("alice", 3)];
      const between = vi.fn(async () => rows);
      const tokens = { ...settings, limits: { models: [] }, callersOwn: true };
      const counting = await openCounting(tokens, silent, { ...history, between });
      // Alice has a limit of her own, and was counted by it; a call of hers still runs.
      (await begin(counting, "alice", 1))(2);
      const runs = await begin(counting, "alice", 1);
      rows = [used("alice", 5), used("bob", 4)];
      const changed = counting.change({ ...tokens, limits: settings.limits });
      await counting.limits.reserve([of("bob", 1)]);
      await changed.added;
      expect([await left(counting, "alice"), await left(counting, "bob")]).toEqual([4, 5]);
      // That is told, though calls of before still run.
      expect(await counting.limits.peek([of("bob", 1).counter])).toMatchObject([{ remaining: 5 }]);
      // What ran at the change has ended, with more than its estimate.
      runs(3);
      rows = [used("alice", 8), used("bob", 6)];
      changed.ended();
      await vi.waitFor(async () => expect(await left(counting, "bob")).toBe(3));
      expect(await left(counting, "alice")).toBe(2);
      between.mockClear();
      const same = counting.change({
        ...tokens,
        limits: { models: [], caller: { imagesPerDay: 2 } },
      });
      await same.added;
      same.ended();
      expect(between).not.toHaveBeenCalled();
      // Nothing is missing of what it tells.
      expect(await counting.limits.peek([of("bob", 1).counter])).toMatchObject([{ remaining: 3 }]);
      await counting.close();
    });

    it("goes on with it where a limit was gone for a time", async () => {
      let rows = [used("alice", 1)];
      const counting = await openCounting(settings, silent, {
        ...history,
        between: async () => rows,
      });
      (await begin(counting, "alice", 1))(0);
      // What it claims is used by nobody yet.
      const runs = await begin(counting, "alice", 3);
      await counting.change(none).added;
      rows = [used("alice", 5)];
      const { added, ended } = counting.change(everyone);
      await added;
      expect(await left(counting, "alice")).toBe(2);
      runs(0);
      ended();
      expect(await left(counting, "alice")).toBe(5);
      await counting.close();
    });

    it("takes nothing off for calls that the database does not have", async () => {
      let rows: ReturnType<typeof used>[] = [];
      const tokens = { ...settings, limits: { models: [] }, callersOwn: true };
      const counting = await openCounting(tokens, silent, {
        ...history,
        between: async () => rows,
      });
      (await begin(counting, "alice", 3))(3);
      rows = [used("alice", 1)];
      await counting.change({ ...tokens, limits: settings.limits }).added;
      expect(await left(counting, "alice")).toBe(7);
      await counting.close();
    });

    it("knows of none that began on the day before", async () => {
      vi.useFakeTimers({ toFake: ["Date"], now: Date.UTC(2026, 0, 1, 23, 59, 59) });
      onTestFinished(() => void vi.useRealTimers());
      let answer = (_: ReturnType<typeof used>[]) => {};
      const between = () =>
        new Promise<ReturnType<typeof used>[]>((resolve) => {
          answer = resolve;
        });
      const opening = openCounting({ ...settings, ...none }, silent, { ...history, between });
      const counting = await opening;
      const runs = await begin(counting, "alice", 3);
      vi.setSystemTime(Date.UTC(2026, 0, 2, 0, 0, 1));
      const { added } = counting.change(everyone);
      runs(3);
      answer([used("alice", 5)]);
      await added;
      expect(await left(counting, "alice")).toBe(5);
      await counting.close();
    });

    it("adds nothing twice where what was used before the start comes late", async () => {
      const answers: ((rows: ReturnType<typeof used>[]) => void)[] = [];
      const between = () =>
        new Promise<ReturnType<typeof used>[]>((resolve) => {
          answers.push(resolve);
        });
      vi.useFakeTimers({ toFake: ["setTimeout", "clearTimeout"] });
      onTestFinished(() => void vi.useRealTimers());
      const opening = openCounting(settings, silent, { ...history, between });
      await vi.advanceTimersByTimeAsync(2000);
      const counting = await opening;
      (await begin(counting, "alice", 2))(2);
      await counting.change(none).added;
      const { added } = counting.change(everyone);
      answers[1]?.([used("alice", 5)]);
      await added;
      expect(await left(counting, "alice")).toBe(5);
      answers[0]?.([used("alice", 3)]);
      await vi.advanceTimersByTimeAsync(0);
      expect(await left(counting, "alice")).toBe(5);
      await counting.close();
    });
  });

  it("is not asked again once it is closed", async () => {
    vi.useFakeTimers({ toFake: ["setTimeout", "clearTimeout"] });
    onTestFinished(() => {
      vi.useRealTimers();
    });
    const between = vi.fn(() => Promise.reject(new Error("the database is away")));
    const counting = await openCounting(settings, silent, { ...history, between });
    await counting.close();
    between.mockClear();
    await vi.advanceTimersByTimeAsync(60_000);
    expect(between).not.toHaveBeenCalled();
  });
});
