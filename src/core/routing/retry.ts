/** Another attempt after one that failed. */
import type { Call } from "../call.js";
import type { Candidates } from "./candidates.js";
import { pause } from "./clock.js";
import type { RoutingTools } from "./routing.js";

/** How often a call has been tried. */
export interface Tries {
  /** Targets that were asked. */
  readonly asked: number;
  /** Pauses that were made before one was asked again. */
  readonly pauses: number;
}

/**
 * Resolves when the next attempt may begin: at once for a target that was not asked yet,
 * after a pause for one that was.
 * @returns the pauses made so far
 * @throws LintelError what the caller sees where no attempt may follow; the signal's reason
 */
export async function beforeRetry(
  { signal, deadline }: Call,
  { clock, budget, settings, random }: RoutingTools,
  candidates: Candidates,
  { asked, pauses }: Tries,
): Promise<number> {
  const { attempts, firstPauseMs, longestPauseMs } = settings.retry;
  const giveUp = () => candidates.lastWord(clock.now());
  if (asked >= attempts) throw giveUp();
  const next = candidates.choose(clock.now());
  if (next === undefined) throw giveUp();
  const again = next !== "full" && candidates.wasTried(next);
  const longest = Math.min(longestPauseMs, firstPauseMs * 2 ** pauses);
  const pauseMs = again ? longest * (0.5 + 0.5 * random()) : 0;
  if (deadline !== undefined && performance.now() + pauseMs >= deadline) throw giveUp();
  if (!budget.take(clock.now())) throw giveUp();
  if (!again) return pauses;
  await pause(clock, pauseMs, signal);
  return pauses + 1;
}
