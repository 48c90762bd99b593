/** Whose fault it is that an attempt ended. */
import type { Call } from "../call.js";
import type { AttemptRecord } from "../call-attributes.js";
import type { ErrorCode } from "../error-table.js";
import type { Verdict } from "./circuit.js";

/** Failures that say something of the target, not of the request or the caller. */
const blamed: ReadonlySet<string> = new Set<ErrorCode>([
  "upstream_failed",
  "upstream_unreachable",
  "unavailable",
  "shutting_down",
  "timeout",
]);

/** Ends that say nothing of either. */
const alone: ReadonlySet<string> = new Set<AttemptRecord["outcome"]>([
  "cancelled",
  "slower",
  "running",
  "rate_limited",
  "overloaded",
  "internal",
]);

/** What the end of an attempt says of its target. */
export function verdictOf(outcome: AttemptRecord["outcome"]): Verdict {
  if (blamed.has(outcome)) return "failed";
  return alone.has(outcome) ? "neutral" : "ok";
}

/** How far timers may be apart that count to the same deadline, milliseconds. */
const toleranceMs = 50;

/**
 * Whether a failure comes from the call's deadline, which may be the caller's own and says
 * nothing of the target. Backends that know of it may notice it before the call does.
 */
export function isDeadline({ deadline }: Call, code: "ok" | ErrorCode): boolean {
  return code === "timeout" && deadline !== undefined && performance.now() > deadline - toleranceMs;
}
