/** Counters as arguments of the scripts, and what scripts answer of them. */
import type { Counter, Standing } from "../../core/limits/store.js";
import { stepsPerWindow } from "./sliding-count.js";

/** How long estimates of a calendar period count as what calls that run may give back. The same for all replicas. */
const claimsMs = 3_600_000;

/** The kinds of counters, as scripts know them. */
export const letters = { sliding: "s", calendar: "c", running: "r" } as const;

/** The argument of a counter that depends on its kind: its step, or the name of its period. */
export function spanArgument(span: Counter["span"]): number | string {
  switch (span.type) {
    case "sliding":
      return span.ms / stepsPerWindow;
    case "calendar":
      return span.period;
    case "running":
      return 0;
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
