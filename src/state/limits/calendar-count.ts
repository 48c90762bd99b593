/** What a period of the calendar counts, in memory. */
import { type Period, periodAt } from "../../core/limits/period.js";
import type { BudgetPeriod } from "../../core/limits/settings.js";
import type { Standing } from "../../core/limits/store.js";
import type { TimeZone } from "../../core/time-zone.js";
import type { Count, Moment } from "./count.js";

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
  readonly #zone: TimeZone;
  #now: Counting = { period: { start: 0, end: 0 }, came: Number.NEGATIVE_INFINITY, used: 0 };
  /** The one that was left for it last: a clock that leapt comes back to it. */
  #left: Counting | undefined;

  constructor(kind: BudgetPeriod, zone: TimeZone) {
    this.#kind = kind;
    this.#zone = zone;
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
    const period = periodAt(this.#kind, wall, this.#zone);
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
