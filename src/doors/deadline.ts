/** The caller's own deadline, on every door. */
import { invalidValue, LintelError } from "../core/errors.js";
import type { Origin } from "../core/gateway.js";
import { longestTimerMs } from "../core/timers.js";

/**
 * Adds `x-request-timeout-ms`. Of it and what the protocol itself says
 * (`grpc-timeout`, `connect-timeout-ms`) the shorter one counts.
 */
export function withDeadline(origin: Origin, header: string | undefined): Origin {
  if (header === undefined) return origin;
  const timeout = timeoutOf(header);
  if (timeout instanceof LintelError) return { ...origin, defect: origin.defect ?? timeout };
  return { ...origin, timeoutMs: Math.min(timeout, origin.timeoutMs ?? timeout) };
}

function timeoutOf(given: string): number | LintelError {
  const ms = Number(given);
  // A longer one than Node's timers can count would end at once.
  if (/^\s*\d+\s*$/.test(given) && ms > 0 && ms <= longestTimerMs) return ms;
  return invalidValue(
    "x-request-timeout-ms",
    `must be a whole number of milliseconds, from 1 to ${longestTimerMs}`,
  );
}
