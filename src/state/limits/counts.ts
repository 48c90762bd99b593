/** The counts of counters of each kind, in memory. */
import type { Counter, Span, Standing } from "../../core/limits/store.js";
import type { TimeZone } from "../../core/time-zone.js";
import { CalendarCount } from "./calendar-count.js";
import type { Count } from "./count.js";
import { SlidingCount } from "./sliding-count.js";

/** A new count, with nothing counted. @param zone by whose clocks periods of the calendar begin */
export function countFor(span: Span, zone: TimeZone): Count {
  switch (span.type) {
    case "sliding":
      return new SlidingCount(span.ms);
    case "calendar":
      return new CalendarCount(span.period, zone);
    case "running":
      return new RunningCount();
  }
}

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
