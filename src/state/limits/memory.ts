/** Limits counted in this process. */
import type {
  Claim,
  LimitStore,
  Reservation,
  Standing,
  Standings,
  StoreState,
  Verdict,
} from "../../core/limits/store.js";
import { type TimeZone, utc } from "../../core/time-zone.js";
import { CalendarCount } from "./calendar-count.js";
import { type Count, type Moment, steadyNow } from "./count.js";
import { claimedWaitMs, countFor, shareOf } from "./counts.js";

/** What can be set about it. */
export interface MemoryLimitOptions {
  /** Milliseconds since the epoch. Default: the system's. */
  readonly clock?: (() => number) | undefined;
  /** The same, never set: for sliding windows. Default: `clock`, or the process's own. */
  readonly steady?: (() => number) | undefined;
  /** By whose clocks periods of the calendar begin. Default: UTC. */
  readonly zone?: TimeZone | undefined;
  /** Each counter's limit is divided by this. Default 1. */
  readonly replicas?: number;
}

/** What a calendar counter had counted in a period. */
export interface CalendarEntry {
  /** Start of the period, milliseconds since the epoch. */
  readonly start: number;
  readonly used: number;
}

/** What calendar counters have of calls that have ended, of those alone that began before it was made. */
export interface CalendarSnapshot {
  /** By key; goes along as those calls end. */
  readonly entries: Map<string, CalendarEntry>;
  /** Lets go of it: it stays as it is. */
  end(): void;
}

/** A store without anything around it: exact in one process, forgotten with it. */
export interface MemoryLimitStore extends LimitStore {
  // Nothing has to be asked, and all is known at once.
  reserve(claims: readonly Claim[]): Verdict;
  peek(counters: readonly Claim["counter"][]): Standings;
  /**
   * From now on nobody knows how calendar counters stand: something is missing that `restore` will add.
   * @returns to be called when it was, or will not be; again does nothing
   */
  expectMore(): () => void;
  /** Adds what was counted before. What belongs to another period is passed over. */
  restore(counter: Claim["counter"], entry: CalendarEntry): void;
  /** What the calendar counters have without the estimates of calls that run. */
  snapshot(): CalendarSnapshot;
  /** How many counters are in memory. */
  readonly size: number;
}

interface Counted {
  readonly all: Count;
  /** What running calls claim of it by estimates, and may give back. */
  readonly claimed: Count | undefined;
}

interface MemoryReservation extends Reservation {
  readonly at: Moment;
  /** Counts up. */
  readonly number: number;
  settled: boolean;
}

/** Counters that are looked at for being idle whenever a new one is made. */
const looked = 2;

/** Makes an empty store. */
export function memoryLimits(options: MemoryLimitOptions = {}): MemoryLimitStore {
  const { clock = Date.now, steady = options.clock ?? steadyNow, replicas = 1 } = options;
  const { zone = utc } = options;
  const moment = (): Moment => ({ wall: clock(), steady: steady() });
  const counts = new Map<string, Counted>();
  const tidy = tidying(counts);
  /** Each with the number of the first reservation that it does not follow. */
  const snapshots = new Map<CalendarSnapshot, number>();
  /** Each for something that calendar counters lack. */
  const expected = new Set<object>();
  let reservations = 0;

  const countOf = ({ key, span, estimated }: Claim["counter"], now: Moment): Counted => {
    let count = counts.get(key);
    if (!count) {
      const claimed = estimated ? countFor(span, zone) : undefined;
      count = { all: countFor(span, zone), claimed };
      counts.set(key, count);
    }
    count.all.advance(now);
    count.claimed?.advance(now);
    return count;
  };

  return {
    reserve(claims) {
      const now = moment();
      const known = counts.size;
      const found: Counted[] = [];
      let refused = -1;
      let waitMs = 0;
      for (let i = 0; i < claims.length; i++) {
        const { counter, amount } = claims[i] as Claim;
        const count = countOf(counter, now);
        found.push(count);
        // What is within the limit, if not within a share of it, fits where nothing was counted.
        const limit = Math.max(shareOf(counter, replicas), Math.min(amount, counter.limit));
        const wait = waitFor(amount, count, limit, now);
        if (wait > waitMs) {
          waitMs = wait;
          refused = i;
        }
      }
      const standings: Standing[] = [];
      for (let i = 0; i < found.length; i++) {
        const { counter, amount } = claims[i] as Claim;
        const { all, claimed } = found[i] as Counted;
        if (refused < 0) {
          all.add(amount, now);
          claimed?.add(amount, now);
        }
        standings.push(all.standing(shareOf(counter, replicas), now));
      }
      // Not before the new ones have counted something: they would be forgotten as idle.
      for (let made = counts.size - known; made > 0; made--) tidy(now);
      if (refused >= 0) return { granted: false, standings, refused, waitMs };
      const number = reservations++;
      const reservation: MemoryReservation = { claims, at: now, number, settled: false };
      return { granted: true, standings, reservation };
    },
    settle(given, amounts) {
      const reservation = given as MemoryReservation;
      if (reservation.settled) return;
      reservation.settled = true;
      const now = moment();
      for (const [i, { counter, amount }] of reservation.claims.entries()) {
        const took = counter.span.type === "running" ? 0 : (amounts[i] ?? amount);
        if (took === amount && !counter.estimated) continue;
        const { all, claimed } = countOf(counter, now);
        all.correct(took - amount, reservation.at, now);
        claimed?.correct(-amount, reservation.at, now);
        for (const [{ entries }, end] of snapshots) {
          const start = all instanceof CalendarCount ? all.start : Number.POSITIVE_INFINITY;
          if (reservation.number >= end || reservation.at.wall < start) continue;
          entries.set(counter.key, { start, used: usedOf(entries, counter.key, start) + took });
        }
      }
    },
    peek(counters) {
      const now = moment();
      return counters.map((counter) => {
        // One that was never counted is not kept: it would be made for nothing.
        const all = counts.get(counter.key)?.all ?? countFor(counter.span, zone);
        all.advance(now);
        const standing = all.standing(shareOf(counter, replicas), now);
        if (!(all instanceof CalendarCount)) return standing;
        return expected.size > 0 ? undefined : { ...standing, resetMs: all.end - now.wall };
      });
    },
    expectMore() {
      const more = {};
      expected.add(more);
      return () => void expected.delete(more);
    },
    restore(counter, { start, used }) {
      const { all: count } = countOf(counter, moment());
      if (count instanceof CalendarCount && count.start === start) count.add(used);
    },
    snapshot() {
      const entries = new Map<string, CalendarEntry>();
      for (const [key, { all, claimed }] of counts) {
        if (!(all instanceof CalendarCount)) continue;
        entries.set(key, { start: all.start, used: all.total - (claimed?.total ?? 0) });
      }
      const snapshot = { entries, end: () => void snapshots.delete(snapshot) };
      snapshots.set(snapshot, reservations);
      return snapshot;
    },
    // Nobody shares it, and who asks remembers.
    hold: () => true,
    keep() {},
    release() {},
    get size() {
      return counts.size;
    },
    get state(): StoreState {
      return { kind: "memory", available: true, outages: 0, decidedWithout: 0 };
    },
    async close() {},
  };
}

/** What a counter has of a period that began then. */
export function usedOf(
  entries: ReadonlyMap<string, CalendarEntry>,
  key: string,
  start: number,
): number {
  const entry = entries.get(key);
  return entry?.start === start ? entry.used : 0;
}

/**
 * Forgets a few counters where nothing counts any more, the longest unlooked at
 * first: as many at least as are made, so that callers who never come back do
 * not fill the memory.
 */
function tidying(counts: Map<string, Counted>): (now: Moment) => void {
  // Goes on where it was. A map's entries that are gone stay in it for a time, and one that
  // begins at the first would pass over all of them: a millisecond with 100,000 counters.
  let queue = counts.entries();
  return (now) => {
    for (let left = looked; left > 0; left--) {
      const { value, done } = queue.next();
      if (done) {
        queue = counts.entries();
        return;
      }
      const [key, count] = value;
      counts.delete(key);
      count.all.advance(now);
      if (!count.all.idle) counts.set(key, count);
    }
  };
}

/** A short wait where what was really used leaves room: the calls that claim the rest end some time. */
function waitFor(amount: number, { all, claimed }: Counted, limit: number, now: Moment): number {
  const wait = all.waitFor(amount, limit, now);
  if (!claimed || wait <= claimedWaitMs || amount > limit) return wait;
  return all.waitFor(amount - claimed.total, limit, now) === 0 ? claimedWaitMs : wait;
}
