/** Counters as arguments of the scripts, and what scripts answer of them. */
import type { BudgetPeriod } from "../../core/limits/settings.js";
import type { Counter, Standing } from "../../core/limits/store.js";
import type { Offset, TimeZone } from "../../core/time-zone.js";
import { stepsPerWindow } from "./sliding-count.js";

/** How long estimates of a calendar period count as what calls that run may give back. The same for all replicas. */
const claimsMs = 3_600_000;

/** The kinds of counters, as scripts know them. */
export const letters = { sliding: "s", calendar: "c", running: "r" } as const;

/** Makes arguments of counters. */
export class SpanArguments {
  readonly #zone: TimeZone;
  readonly #now: () => number;
  #offsets: readonly Offset[] | undefined;
  /** As the scripts want them, behind the name of a period; empty: UTC. */
  #told = "";

  /** @param now about what the store's clock says, milliseconds since the epoch */
  constructor(zone: TimeZone, now: () => number) {
    this.#zone = zone;
    this.#now = now;
  }

  /** The argument that depends on a counter's kind: its step, or its period. */
  of(span: Counter["span"]): number | string {
    switch (span.type) {
      case "sliding":
        return span.ms / stepsPerWindow;
      case "calendar":
        return this.period(span.period);
      case "running":
        return 0;
    }
  }

  /** A period's name, and what the store has to know of the calendar, which has no zones. */
  period(period: BudgetPeriod): string {
    if (this.#zone.isUtc || period === "lifetime") return period;
    // Those of a year before and after: which period it is, is for the clock of the store to say.
    const offsets = this.#zone.around(this.#now());
    if (offsets !== this.#offsets) {
      this.#offsets = offsets;
      this.#told = offsets.map(({ from, ms }, i) => (i > 0 ? ` ${from} ${ms}` : ` ${ms}`)).join("");
    }
    return `${period}${this.#told}`;
  }
}

/** Step of a counter's claims; 0: what it counts is no estimate. */
export function claimStep({ span, estimated }: Counter): number {
  if (!estimated) return 0;
  return (span.type === "sliding" ? span.ms : claimsMs) / stepsPerWindow;
}

/** How counters stand, by the two numbers that an answer has for each. */
export const standingsOf = (answer: readonly number[], count: number): Standing[] =>
  Array.from({ length: count }, (_, i) => ({
    remaining: answer[2 * i] ?? 0,
    resetMs: timeTold(answer[2 * i + 1] ?? 0),
  }));

/** A time as answers have it, milliseconds; below 0 it is never. */
export const timeTold = (ms: number) => (ms < 0 ? Number.POSITIVE_INFINITY : ms);
