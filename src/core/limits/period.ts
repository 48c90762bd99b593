/** Periods of the calendar of a place. */
import { momentOf, offsetAt, type TimeZone, utc } from "../time-zone.js";
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

/**
 * The period that a time lies in, by the clocks of a zone: a day that loses or gains an hour is shorter or longer, and
 * begins with the first moment at which clocks say its date.
 */
export function periodAt(kind: BudgetPeriod, now: number, zone: TimeZone = utc): Period {
  if (kind === "lifetime") return { start: 0, end: Number.POSITIVE_INFINITY };
  const offsets = zone.around(now);
  const ahead = offsetAt(offsets, now);
  const wall = now + ahead;
  if (kind === "hour") {
    const start = Math.floor(wall / hour) * hour - ahead;
    return { start, end: start + hour };
  }
  const [first, next] = daysOf(kind, Math.floor(wall / day));
  const end = momentOf(offsets, next * day);
  // Clocks that went back beyond midnight say the day before again: its next has begun all the same.
  if (now >= end) return periodAt(kind, end, zone);
  return { start: momentOf(offsets, first * day), end };
}

/** The first day of a period that has a day, and that of the next; days since the epoch. */
function daysOf(kind: "day" | "week" | "month", days: number): [number, number] {
  if (kind === "day") return [days, days + 1];
  if (kind === "week") {
    // The epoch was a Thursday; weeks begin on Mondays.
    const monday = Math.floor((days - 4) / 7) * 7 + 4;
    return [monday, monday + 7];
  }
  const date = new Date(days * day);
  const month = (more: number) => Date.UTC(date.getUTCFullYear(), date.getUTCMonth() + more) / day;
  return [month(0), month(1)];
}
