/** What a caller is told when no attempt follows. */
import { LintelError } from "../errors.js";
import { Refusal, reasonOf } from "../log.js";
import { longestPauseMs } from "../patience.js";
import type { Target } from "./target.js";

/**
 * The last failure, or that no target can take the call; with the time after
 * which the first of them may be back, where all are out; soon, where the last is about to leave.
 * @param fit targets that could do what is asked
 */
export function lastWord(
  failure: LintelError | undefined,
  fit: readonly Target[],
  now: number,
): LintelError {
  if (failure?.leaving) {
    // The next call is asked there again. A gateway in front would not come before the time is over.
    const { code, message, cause } = failure;
    return new LintelError(code, message, { retryAfter: 1, cause });
  }
  const out = fit.length > 0 && fit.every(({ endpoint }) => !endpoint.usable(now));
  // A failure without a time to wait was not about the target's being busy.
  if (failure && (!out || failure.askedDelay === undefined)) return failure;
  const soonest = Math.min(...fit.map(({ endpoint }) => endpoint.usableAt(now)));
  const usedUp = out && fit.every(({ endpoint }) => endpoint.isUsedUp(now));
  // A minute's use may count for 61 seconds. Who comes a second early is told of that second.
  const longest = usedUp ? Math.floor(longestPauseMs / 1000) : Number.POSITIVE_INFINITY;
  const retryAfter = out && Math.min(longest, Math.max(1, Math.ceil((soonest - now) / 1000)));
  return new LintelError(
    failure?.code ?? "unavailable",
    failure?.message ?? (usedUp ? quotaUsedUp : "no model server can take the request now"),
    { ...(retryAfter && { retryAfter }), cause: failure ? failure.cause : whyOut(fit, now) },
  );
}

const quotaUsedUp = "as much was asked of this model's servers as they allow in a minute";

/** Most targets of which the log is told why they are out. */
const mostTold = 3;

/** Why calls find nobody, for the log: the lines of the calls that failed there may be hours old. */
function whyOut(fit: readonly Target[], now: number): Refusal | undefined {
  const told = fit.flatMap(({ backend, endpoint }) => {
    const { whyOut } = endpoint.health;
    if (whyOut) return `${backend.name} is out: ${reasonOf(whyOut)}`;
    return endpoint.isUsedUp(now) ? `${backend.name} has used up its quota` : [];
  });
  return told.length > 0 ? new Refusal(told.slice(0, mostTold).join("; ")) : undefined;
}
