/** How the counts of one counter are kept in memory. */
import { type Period, periodAt } from "../../core/limits/period.js";
import type { BudgetPeriod } from "../../core/limits/settings.js";
import type { Counter, Span, Standing } from "../../core/limits/store.js";

/** Steps of a sliding window: what was counted leaves it at most one step late, never early. */
export const stepsPerWindow = 60;

/** A moment, milliseconds since the epoch. */
export interface Moment {
  /** By the clock that says which day it is, and may be set. */
  readonly wall: number;
  /** By one that never goes back, or forward by more than passes. */
  readonly steady: number;
}

/** The time by this process's own clock, that nobody sets; milliseconds since the epoch. */
export const steadyNow = () => performance.timeOrigin + performance.now();

/** The counts of one counter. */
export interface Count {
  /** Makes the state that of `now`, before anything is asked. */
  advance(now: Moment): void;
  /** Wait until an amount fits, milliseconds; 0: it fits now; `Infinity`: never. */
  waitFor(amount: number, limit: number, now: Moment): number;
  /** Adds an amount at `now`. */
  add(amount: number, now: Moment): void;
  /** Puts right by `more` (or less) what was counted at `then`. */
  correct(more: number, then: Moment, now: Moment): void;
  standing(limit: number, now: Moment): Standing;
  /** What counts now. */
  readonly total: number;
  /** Whether it is as if nothing had ever been counted. */
  readonly idle: boolean;
}

/** A new count, with nothing counted. */
export function countFor(span: Span): Count {
  switch (span.type) {
    case "sliding":
      return new SlidingCount(span.ms);
    case "calendar":
      return new CalendarCount(span.period);
    case "running":
      return new RunningCount();
  }
}

/** What counts in a window that slides by steps; only steps in which something happened are kept. */
class SlidingCount implements Count {
  readonly #stepMs: number;
  /** Numbers of steps since the epoch, ascending, and what was counted in each. */
  #steps: number[] = [];
  #amounts: number[] = [];
  #total = 0;

  constructor(windowMs: number) {
    this.#stepMs = windowMs / stepsPerWindow;
  }

  get idle(): boolean {
    return this.#steps.length === 0;
  }

  get total(): number {
    return this.#total;
  }

  advance(now: Moment): void {
    const first = Math.floor(now.steady / this.#stepMs) - stepsPerWindow;
    let gone = 0;
    for (; gone < this.#steps.length && (this.#steps[gone] as number) < first; gone++) {
      this.#total -= this.#amounts[gone] as number;
    }
    if (gone === 0) return;
    this.#steps.splice(0, gone);
    this.#amounts.splice(0, gone);
  }

  waitFor(amount: number, limit: number, now: Moment): number {
    let excess = this.#total + amount - limit;
    if (excess <= 0) return 0;
    if (amount > limit) return Number.POSITIVE_INFINITY;
    for (const [i, step] of this.#steps.entries()) {
      excess -= this.#amounts[i] as number;
      if (excess <= 0) return this.#leavesAt(step) - now.steady;
    }
    return 0;
  }

  add(amount: number, now: Moment): void {
    this.#total += amount;
    const step = Math.floor(now.steady / this.#stepMs);
    const last = this.#steps.length - 1;
    if (this.#steps[last] === step) {
      this.#amounts[last] = (this.#amounts[last] as number) + amount;
    } else {
      this.#steps.push(step);
      this.#amounts.push(amount);
    }
  }

  correct(more: number, then: Moment, now: Moment): void {
    if (more > 0) {
      this.add(more, now);
      return;
    }
    const step = Math.floor(then.steady / this.#stepMs);
    const i = this.#steps.findLastIndex((s) => s <= step);
    if (this.#steps[i] !== step) return;
    const less = Math.min(-more, this.#amounts[i] as number);
    this.#amounts[i] = (this.#amounts[i] as number) - less;
    this.#total -= less;
  }

  standing(limit: number, now: Moment): Standing {
    const last = this.#steps.at(-1);
    const resetMs = this.#total === 0 || last === undefined ? 0 : this.#leavesAt(last) - now.steady;
    return { remaining: Math.max(0, limit - this.#total), resetMs };
  }

  #leavesAt(step: number): number {
    return (step + stepsPerWindow + 1) * this.#stepMs;
  }
}

/** By how much a clock may be set back that had begun a period too early: it goes on, milliseconds. */
export const slackMs = 600_000;

/** What was counted in one period. */
interface Counting {
  readonly period: Period;
  /** When the period came, by the clock that is never set. */
  readonly came: number;
  used: number;
}

/** What counts in a period of the calendar, or for good. */
export class CalendarCount implements Count {
  readonly #kind: BudgetPeriod;
  #now: Counting = { period: { start: 0, end: 0 }, came: Number.NEGATIVE_INFINITY, used: 0 };
  /** The one that was left for it last: a clock that leapt comes back to it. */
  #left: Counting | undefined;

  constructor(kind: BudgetPeriod) {
    this.#kind = kind;
  }

  get idle(): boolean {
    return this.#now.used === 0;
  }

  get total(): number {
    return this.#now.used;
  }

  /** When the period that is counted began, milliseconds since the epoch. */
  get start(): number {
    return this.#now.period.start;
  }

  /** When it ends. */
  get end(): number {
    return this.#now.period.end;
  }

  advance({ wall, steady }: Moment): void {
    const before = this.#now;
    const { start, end } = before.period;
    if (isIn(before.period, wall)) return;
    const left = this.#left;
    if (left && isIn(left.period, wall) && (wall >= end || wall < start - slackMs)) {
      this.#now = left;
      this.#left = before;
      return;
    }
    // A clock that was set back brings no new count. A little: this period goes on. By more than a
    // period: it would never end, so what was counted counts in the one that the clock says.
    if (wall >= start - (end - start) && wall < end) return;
    const period = periodAt(this.#kind, wall);
    if (wall < start) {
      this.#now = { ...before, period };
      return;
    }
    this.#left = before;
    this.#now = { period, came: steady, used: 0 };
  }

  waitFor(amount: number, limit: number, now: Moment): number {
    if (this.total + amount <= limit) return 0;
    return amount > limit ? Number.POSITIVE_INFINITY : this.end - now.wall;
  }

  add(amount: number): void {
    this.#now.used += amount;
  }

  correct(more: number, then: Moment): void {
    if (more > 0 || this.#has(then)) this.#now.used = Math.max(0, this.total + more);
  }

  standing(limit: number, now: Moment): Standing {
    const resetMs = this.total === 0 ? 0 : this.end - now.wall;
    return { remaining: Math.max(0, limit - this.total), resetMs };
  }

  /** Whether what was counted then is in what counts now, and not in a later period that was left again. */
  #has({ steady, wall }: Moment): boolean {
    if (steady < this.#now.came) return false;
    return wall < this.end || !(this.#left && this.#left.period.start > this.start);
  }
}

const isIn = ({ start, end }: Period, wall: number) => wall >= start && wall < end;

/** When a caller at its most concurrent calls may come again: nobody knows, milliseconds. */
export const runningWaitMs = 1000;

/** When one may come again whom only estimates of running calls refuse: nobody knows either. */
export const claimedWaitMs = 2000;

/** What runs. */
class RunningCount implements Count {
  #running = 0;

  get idle(): boolean {
    return this.#running === 0;
  }

  get total(): number {
    return this.#running;
  }

  advance(): void {}

  waitFor(amount: number, limit: number): number {
    if (this.#running + amount <= limit) return 0;
    return amount > limit ? Number.POSITIVE_INFINITY : runningWaitMs;
  }

  add(amount: number): void {
    this.#running += amount;
  }

  correct(more: number): void {
    this.#running += more;
  }

  standing(limit: number): Standing {
    return { remaining: Math.max(0, limit - this.#running), resetMs: 0 };
  }
}

/** A counter's limit for one of several replicas that can't ask each other; 1 at least. */
export function shareOf({ limit }: Counter, replicas: number): number {
  return replicas === 1 || limit < 1 ? limit : Math.max(1, Math.floor(limit / replicas));
}
