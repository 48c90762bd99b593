/** Periods of the calendar, in UTC. */
import type { BudgetPeriod } from "./settings.js";

/** A stretch of time: its start, and the start of the next, `Infinity` where there is none; milliseconds since the epoch. */
export interface Period {
  readonly start: number;
  readonly end: number;
}

/** By how much ends of one period may differ, milliseconds: stores tell them as times that are left, after a way. */
export const sameEndMs = 600_000;

const hour = 3_600_000;
const day = 24 * hour;
/** The epoch was a Thursday; weeks begin on Mondays. */
const firstMonday = 4 * day;

/** The period that a time lies in. */
export function periodAt(kind: BudgetPeriod, now: number): Period {
  switch (kind) {
    case "hour":
      return even(now, hour, 0);
    case "day":
      return even(now, day, 0);
    case "week":
      return even(now, 7 * day, firstMonday);
    case "month": {
      const date = new Date(now);
      const month = (more: number) => Date.UTC(date.getUTCFullYear(), date.getUTCMonth() + more);
      return { start: month(0), end: month(1) };
    }
    case "lifetime":
      return { start: 0, end: Number.POSITIVE_INFINITY };
  }
}

function even(now: number, length: number, offset: number): Period {
  const start = Math.floor((now - offset) / length) * length + offset;
  return { start, end: start + length };
}
