/** What calls of workers that were killed may have left reserved of a budget. */
import type { Call } from "./audit.js";

/**
 * The most that a call reserves: an image is 1, and a chat less, with a prompt of some hundred tokens and the 256 of an
 * answer that are taken where nobody says how many.
 */
const mostOfCall = 1;
/** How many requests a client without manners makes at most that run at the same time. */
const mostAtOnce = 10;
/** Requests of callers whose tokens pass, of who looks at what holds, and of another gateway's lists. */
const mostOthers = 20;
/** How long a call with a key goes on without its caller, and until its end is counted, milliseconds. */
const outlastsMs = 3000;
/** How long a kill may take, milliseconds. */
const killMs = 500;

/**
 * An upper bound, in the unit of prices: whichever worker they ran in, as one was killed.
 * @param kills times of `Date.now()`
 */
export function mostReserved(calls: readonly Call[], kills: readonly number[]): number {
  let requests = 0;
  for (const at of kills) {
    requests += mostOthers;
    for (const { kind, from, until } of calls) {
      if (from > at + killMs || until + outlastsMs < at) continue;
      requests += /^HTTP/.test(kind) ? mostAtOnce : kind === "key, twice" ? 2 : 1;
    }
  }
  return requests * mostOfCall;
}
