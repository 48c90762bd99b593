/** What every store of limits has to do, whatever it counts in. */
import { afterAll, beforeAll, beforeEach, describe, expect, it } from "vitest";
import type { Claim, Counter, LimitStore, Verdict } from "../../../src/core/limits/store.js";

/** A store under test. */
export interface Subject {
  /** Another view of the same counters: another replica, or the same store where there is one only. */
  replica(): LimitStore;
  /** Resolves once the store has what its replicas sent without waiting. */
  arrived(): Promise<void>;
  /** Removes what was started. */
  close(): Promise<void>;
}

/** Noon of a Thursday. */
const noon = Date.UTC(2026, 0, 15, 12);

let names = 0;

const counter = (span: Counter["span"], limit: number, estimated = false): Counter => ({
  key: `test:${names++}`,
  span,
  limit,
  estimated,
});
const minute = (limit: number, estimated = false) =>
  counter({ type: "sliding", ms: 60_000 }, limit, estimated);
const day = (limit: number) => counter({ type: "calendar", period: "day" }, limit, true);
const month = (limit: number) => counter({ type: "calendar", period: "month" }, limit, true);
const lifetime = (limit: number) => counter({ type: "calendar", period: "lifetime" }, limit, true);
const slots = (limit: number) => counter({ type: "running" }, limit);

const one = (of: Counter, amount = 1): Claim => ({ counter: of, amount });

function granted(verdict: Verdict): Extract<Verdict, { granted: true }> {
  if (!verdict.granted) throw new Error(`refused, to wait ${verdict.waitMs} ms`);
  return verdict;
}

function refused(verdict: Verdict): Extract<Verdict, { granted: false }> {
  if (verdict.granted) throw new Error("granted");
  return verdict;
}

/** Tells all stores of the suite the time. */
export interface Clock {
  now: number;
}

/**
 * Runs the suite.
 * @param open makes the subject; its stores take the time from the clock
 */
export function limitContract(name: string, open: (clock: Clock) => Promise<Subject>): void {
  describe(name, () => {
    const clock: Clock = { now: noon };
    let subject: Subject;
    let store: LimitStore;
    let other: LimitStore;

    beforeAll(async () => {
      subject = await open(clock);
      store = subject.replica();
      other = subject.replica();
    });
    beforeEach(() => {
      clock.now = noon;
    });
    afterAll(() => subject.close());

    /** A call that took what it claimed, and ended. */
    const spend = async (at: LimitStore, ...claims: Claim[]) => {
      const { reservation } = granted(await at.reserve(claims));
      at.settle(
        reservation,
        claims.map(({ amount }) => amount),
      );
      await subject.arrived();
    };

    it("lets exactly 600 of 1000 through, whoever asks", async () => {
      const limit = minute(600);
      const stores = [store, other, subject.replica()];
      const verdicts = await Promise.all(
        Array.from({ length: 1000 }, (_, i) => stores[i % 3]?.reserve([one(limit)])),
      );
      expect(verdicts.filter((verdict) => verdict?.granted)).toHaveLength(600);
    });

    it("lets no more through in any minute, however they are spread", async () => {
      const limit = minute(60);
      const times: number[] = [];
      for (let i = 0; i < 600; i++) {
        clock.now = noon + i * 500;
        if ((await (i % 2 ? store : other).reserve([one(limit)])).granted) times.push(clock.now);
      }
      for (const from of times) {
        const within = times.filter((time) => time >= from && time < from + 60_000);
        expect(within.length).toBeLessThanOrEqual(60);
      }
      // Five minutes: nearly five times the limit.
      expect(times.length).toBeGreaterThan(280);
    });

    it("says how long to wait, and keeps its word", async () => {
      const limit = minute(3);
      for (let i = 0; i < 3; i++) {
        granted(await store.reserve([one(limit)]));
        clock.now += 10_000;
      }
      const { waitMs } = refused(await store.reserve([one(limit)]));
      expect(waitMs).toBeGreaterThanOrEqual(30_000);
      expect(waitMs).toBeLessThanOrEqual(31_000);
      clock.now += waitMs - 1;
      refused(await store.reserve([one(limit)]));
      clock.now += 1;
      granted(await store.reserve([one(limit)]));
      refused(await store.reserve([one(limit)]));
    });

    it("says what remains, and when all is there again", async () => {
      const limit = minute(10);
      const first = granted(await store.reserve([one(limit, 4)]));
      expect(first.standings).toEqual([{ remaining: 6, resetMs: 61_000 }]);
      clock.now += 20_500;
      const second = granted(await other.reserve([one(limit, 5)]));
      expect(second.standings[0]?.remaining).toBe(1);
      const third = refused(await other.reserve([one(limit, 2)]));
      expect(third.standings[0]?.remaining).toBe(1);
      expect(third.standings[0]?.resetMs).toBe(60_500);
      clock.now += third.standings[0]?.resetMs ?? 0;
      expect(granted(await store.reserve([one(limit, 10)])).standings[0]?.remaining).toBe(0);
    });

    it("says of each limit when all is there again, also where another one refuses", async () => {
      const [wide, narrow] = [minute(10), slots(1)];
      granted(await store.reserve([one(wide), one(narrow)]));
      clock.now += 20_500;
      const { standings } = refused(await other.reserve([one(wide), one(narrow)]));
      expect(standings).toEqual([
        { remaining: 9, resetMs: 40_500 },
        { remaining: 0, resetMs: 0 },
      ]);
    });

    it("counts against all of the counters or none", async () => {
      const wide = minute(10);
      const narrow = minute(1);
      granted(await store.reserve([one(wide), one(narrow)]));
      for (let i = 0; i < 5; i++) {
        const verdict = refused(await store.reserve([one(wide), one(narrow)]));
        expect(verdict.refused).toBe(1);
        expect(verdict.standings.map(({ remaining }) => remaining)).toEqual([9, 0]);
      }
      expect(granted(await store.reserve([one(wide, 9)])).standings[0]?.remaining).toBe(0);
    });

    it("names the counter that makes wait longest", async () => {
      const long = day(1);
      const short = minute(1);
      await spend(store, one(short), one(long));
      const verdict = refused(await store.reserve([one(short), one(long)]));
      expect(verdict.refused).toBe(1);
      expect(verdict.waitMs).toBe(12 * 3_600_000);
    });

    it("says that what is more than a limit never fits", async () => {
      for (const limit of [minute(10), day(10)]) {
        const verdict = refused(await store.reserve([one(slots(5)), one(limit, 11)]));
        expect([verdict.refused, verdict.waitMs]).toEqual([1, Number.POSITIVE_INFINITY]);
        granted(await store.reserve([one(limit, 10)]));
      }
    });

    it.each([
      ["a budget", () => month(100)],
      ["a window", () => minute(100, true)],
    ])("makes wait a moment where only claims of running calls fill %s", async (_, make) => {
      const limit = make();
      await spend(store, one(limit, 40));
      const running = granted(await store.reserve([one(limit, 30)]));
      granted(await other.reserve([one(limit, 30)]));
      // What was used leaves room for 60.
      expect(refused(await other.reserve([one(limit, 60)])).waitMs).toBe(2000);
      expect(refused(await other.reserve([one(limit, 61)])).waitMs).toBeGreaterThan(60_000);
      expect(refused(await other.reserve([one(limit, 101)])).waitMs).toBe(Infinity);
      // Who took what it claimed claims it no more.
      store.settle(running.reservation, [30]);
      await subject.arrived();
      expect(refused(await store.reserve([one(limit, 30)])).waitMs).toBe(2000);
      expect(refused(await store.reserve([one(limit, 31)])).waitMs).toBeGreaterThan(60_000);
    });

    it("has what a call took that ended without what it claimed", async () => {
      const limit = month(100);
      const { reservation } = granted(await store.reserve([one(limit, 60)]));
      store.settle(reservation, [90]);
      await subject.arrived();
      expect(refused(await other.reserve([one(limit, 20)])).waitMs).toBeGreaterThan(60_000);
      granted(await other.reserve([one(limit, 10)]));
      expect(refused(await other.reserve([one(limit, 10)])).waitMs).toBe(2000);
    });

    it("knows no claims of a day, or of a window, that are over", async () => {
      clock.now = Date.UTC(2026, 0, 15, 23, 59, 59);
      const limit = day(10);
      const { reservation } = granted(await store.reserve([one(limit, 9)]));
      const window = minute(10, true);
      granted(await store.reserve([one(window, 9)]));
      clock.now += 70_000;
      for (const over of [limit, window]) {
        await spend(other, one(over, 8));
        expect(refused(await store.reserve([one(over, 5)])).waitMs).toBeGreaterThan(60_000);
      }
      store.settle(reservation, [9]);
      await subject.arrived();
      granted(await other.reserve([one(limit, 2)]));
      expect(refused(await store.reserve([one(limit, 2)])).waitMs).toBe(2000);
    });

    it("gives back what a call did not take, once", async () => {
      const limit = minute(100, true);
      const { reservation } = granted(await store.reserve([one(limit, 80)]));
      refused(await other.reserve([one(limit, 30)]));
      store.settle(reservation, [10]);
      store.settle(reservation, [0]);
      await subject.arrived();
      const again = granted(await store.reserve([one(limit, 90)]));
      expect(again.standings[0]?.remaining).toBe(0);
      store.settle(again.reservation, [90]);
      await subject.arrived();
      refused(await store.reserve([one(limit)]));
    });

    it("counts what a call took beyond its estimate", async () => {
      const limit = minute(100, true);
      const { reservation } = granted(await store.reserve([one(limit, 10)]));
      clock.now += 30_000;
      store.settle(reservation, [120]);
      await subject.arrived();
      const { waitMs } = refused(await store.reserve([one(limit)]));
      // The excess counts from the end of the call.
      expect(waitMs).toBeGreaterThan(60_000);
      clock.now += waitMs;
      granted(await store.reserve([one(limit, 100)]));
    });

    it("does not give back to a window what has left it", async () => {
      const limit = minute(100, true);
      const { reservation } = granted(await store.reserve([one(limit, 80)]));
      clock.now += 70_000;
      granted(await store.reserve([one(limit, 50)]));
      store.settle(reservation, [0]);
      await subject.arrived();
      const { standings } = refused(await store.reserve([one(limit, 60)]));
      expect(standings[0]?.remaining).toBe(50);
    });

    it("gives back nothing of what leaves a window just then", async () => {
      const limit = minute(100, true);
      const { reservation } = granted(await store.reserve([one(limit, 80)]));
      clock.now += 30_000;
      granted(await store.reserve([one(limit, 20)]));
      clock.now += 35_000;
      store.settle(reservation, [0]);
      await subject.arrived();
      expect(granted(await store.reserve([one(limit, 80)])).standings[0]?.remaining).toBe(0);
    });

    it("begins a day at midnight and a month on the first, in UTC", async () => {
      const daily = day(5);
      const monthly = month(8);
      await spend(store, one(daily, 5), one(monthly, 5));
      expect(refused(await other.reserve([one(daily)])).waitMs).toBe(12 * 3_600_000);
      clock.now = Date.UTC(2026, 0, 15, 23, 59, 59, 999);
      expect(refused(await other.reserve([one(daily)])).waitMs).toBe(1);
      clock.now = Date.UTC(2026, 0, 16);
      await spend(other, one(daily, 3), one(monthly, 3));
      const { waitMs, refused: which } = refused(await store.reserve([one(daily), one(monthly)]));
      expect([which, waitMs]).toEqual([1, Date.UTC(2026, 1, 1) - clock.now]);
      clock.now = Date.UTC(2026, 1, 1);
      granted(await store.reserve([one(daily, 5), one(monthly, 8)]));
    });

    it("never begins a lifetime anew, and goes on with it where it is raised", async () => {
      const limit = lifetime(10);
      const never = Number.POSITIVE_INFINITY;
      expect(await store.peek([limit])).toEqual([{ remaining: 10, resetMs: never }]);
      const { reservation, standings } = granted(await store.reserve([one(limit, 8)]));
      expect(standings).toEqual([{ remaining: 2, resetMs: never }]);
      expect(await other.peek([limit])).toEqual(standings);
      // A call that runs may give back what it claimed.
      expect(refused(await other.reserve([one(limit, 3)])).waitMs).toBe(2000);
      expect(refused(await other.reserve([one(limit, 11)])).waitMs).toBe(never);
      store.settle(reservation, [6]);
      await subject.arrived();
      clock.now = Date.UTC(2040, 0, 1);
      expect(refused(await other.reserve([one(limit, 5)]))).toMatchObject({
        waitMs: never,
        standings: [{ remaining: 4, resetMs: never }],
      });
      await spend(other, one(limit, 4));
      expect(await store.peek([limit])).toEqual([{ remaining: 0, resetMs: never }]);
      const raised = { ...limit, limit: 15 };
      refused(await store.reserve([one(raised, 6)]));
      await spend(store, one(raised, 5));
      clock.now = noon;
      refused(await other.reserve([one(raised)]));
    });

    it("does not give back to a day what was counted on the day before", async () => {
      const limit = day(10);
      const { reservation } = granted(await store.reserve([one(limit, 10)]));
      clock.now += 24 * 3_600_000;
      granted(await store.reserve([one(limit, 10)]));
      store.settle(reservation, [1]);
      await subject.arrived();
      refused(await store.reserve([one(limit)]));
    });

    it("comes back to the day that a clock left which leapt ahead, and later to the other as it was", async () => {
      const limit = day(10);
      const left = async () => (await store.peek([limit]))[0];
      const before = granted(await store.reserve([one(limit, 7)]));
      clock.now += 24 * 3_600_000;
      const ahead = granted(await other.reserve([one(limit, 6)]));
      const later = granted(await other.reserve([one(limit, 4)]));
      clock.now = noon + 60_000;
      expect(await left()).toEqual({ remaining: 3, resetMs: 12 * 3_600_000 - 60_000 });
      other.settle(ahead.reservation, [1]);
      await subject.arrived();
      expect((await left())?.remaining).toBe(3);
      granted(await other.reserve([one(limit, 1)]));
      other.settle(later.reservation, [1]);
      await subject.arrived();
      expect((await left())?.remaining).toBe(2);
      store.settle(before.reservation, [5]);
      await subject.arrived();
      expect((await left())?.remaining).toBe(4);
      clock.now += 24 * 3_600_000;
      refused(await store.reserve([one(limit)]));
      expect(await left()).toEqual({ remaining: 0, resetMs: 12 * 3_600_000 - 60_000 });
      clock.now += 24 * 3_600_000;
      expect((await left())?.remaining).toBe(10);
    });

    it("gives back what a call reserved before the clock was set back by more than its period", async () => {
      const limit = day(10);
      const { reservation } = granted(await store.reserve([one(limit, 7)]));
      clock.now -= 365 * 24 * 3_600_000;
      granted(await other.reserve([one(limit, 1)]));
      store.settle(reservation, [2]);
      await subject.arrived();
      expect((await store.peek([limit]))[0]?.remaining).toBe(7);
    });

    it("keeps counting in the newer day for a replica whose clock is behind", async () => {
      const limit = day(10);
      await spend(store, one(limit, 3));
      clock.now = Date.UTC(2026, 0, 16, 0, 0, 1);
      granted(await store.reserve([one(limit, 9)]));
      clock.now = Date.UTC(2026, 0, 15, 23, 59, 59);
      granted(await other.reserve([one(limit)]));
      refused(await other.reserve([one(limit)]));
      clock.now = Date.UTC(2026, 0, 16, 0, 0, 2);
      refused(await store.reserve([one(limit)]));
    });

    it("counts spend to the billionth, also large sums", async () => {
      const limit = month(9e15);
      granted(await store.reserve([one(limit, 9e15 - 2)]));
      const { reservation, standings } = granted(await store.reserve([one(limit)]));
      expect(standings[0]?.remaining).toBe(1);
      store.settle(reservation, [0]);
      await subject.arrived();
      granted(await store.reserve([one(limit, 2)]));
      refused(await store.reserve([one(limit)]));
    });

    it("frees the slot of a call that ended, and only of that", async () => {
      const limit = slots(2);
      const first = granted(await store.reserve([one(limit)]));
      const second = granted(await other.reserve([one(limit)]));
      expect(refused(await store.reserve([one(limit)])).waitMs).toBeGreaterThan(0);
      store.settle(first.reservation, [1]);
      store.settle(first.reservation, [1]);
      await subject.arrived();
      granted(await store.reserve([one(limit)]));
      refused(await other.reserve([one(limit)]));
      other.settle(second.reservation, [0]);
      await subject.arrived();
      granted(await store.reserve([one(limit)]));
    });

    it("leaves a request counted, also if the call took nothing", async () => {
      const requests = minute(1);
      const tokens = minute(100, true);
      const { reservation } = granted(await store.reserve([one(requests), one(tokens, 50)]));
      store.settle(reservation, [1, 0]);
      await subject.arrived();
      expect(refused(await store.reserve([one(requests), one(tokens, 100)])).refused).toBe(0);
      granted(await store.reserve([one(tokens, 100)]));
    });

    it("tells how counters stand, and counts nothing", async () => {
      const counters = [minute(10), day(8), month(9), slots(3)];
      const [window, daily] = counters as [Counter, Counter];
      const untilMidnight = 12 * 3_600_000;
      const untilFebruary = Date.UTC(2026, 1, 1) - noon;
      expect(await store.peek(counters)).toEqual([
        { remaining: 10, resetMs: 0 },
        { remaining: 8, resetMs: untilMidnight },
        { remaining: 9, resetMs: untilFebruary },
        { remaining: 3, resetMs: 0 },
      ]);
      const claims = counters.map((counter) =>
        one(counter, counter.span.type === "running" ? 1 : 2),
      );
      const { reservation, standings } = granted(await store.reserve(claims));
      for (const at of [other, store, other]) expect(await at.peek(counters)).toEqual(standings);
      expect(standings.map(({ remaining }) => remaining)).toEqual([8, 6, 7, 2]);
      store.settle(reservation, [2, 1, 0, 1]);
      await subject.arrived();
      clock.now += 20_500;
      granted(await store.reserve([one(window)]));
      clock.now += 500;
      expect(await other.peek(counters)).toEqual([
        { remaining: 7, resetMs: 60_000 },
        { remaining: 7, resetMs: untilMidnight - 21_000 },
        { remaining: 9, resetMs: untilFebruary - 21_000 },
        { remaining: 3, resetMs: 0 },
      ]);
      // As many fit as were told.
      granted(await store.reserve([one(window, 7), one(daily, 7)]));
      expect(await store.peek([])).toEqual([]);
    });

    it("tells what is left of a smaller limit than was used, and of what is over", async () => {
      const [window, daily] = [minute(10), day(10)];
      await spend(store, one(window, 6), one(daily, 6));
      const smaller = [window, daily].map((counter) => ({ ...counter, limit: 5 }));
      const left = async () => (await other.peek(smaller)).map((it) => it?.remaining);
      expect(await left()).toEqual([0, 0]);
      clock.now += 70_000;
      expect(await left()).toEqual([5, 0]);
      clock.now += 24 * 3_600_000;
      expect(await left()).toEqual([5, 5]);
    });

    it("takes any text as a key", async () => {
      const odd = { ...minute(1), key: "caller:ü {x} * \n:requests" };
      granted(await store.reserve([one(odd)]));
      refused(await other.reserve([one(odd)]));
    });
  });
}
