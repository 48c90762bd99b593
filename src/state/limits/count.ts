/** What is asked of the counts of one counter, as they are kept in memory. */
import type { Standing } from "../../core/limits/store.js";

/** A moment, milliseconds since the epoch. */
export interface Moment {
  /** By the clock that says which day it is, and may be set. */
  readonly wall: number;
  /** By one that never goes back, or forward by more than passes. */
  readonly steady: number;
}

/** The time by this process's own clock, that nobody sets; milliseconds since the epoch. */
export const steadyNow = () => performance.timeOrigin + performance.now();

/** The counts of one counter. */
export interface Count {
  /** Makes the state that of `now`, before anything is asked. */
  advance(now: Moment): void;
  /** Wait until an amount fits, milliseconds; 0: it fits now; `Infinity`: never. */
  waitFor(amount: number, limit: number, now: Moment): number;
  /** Adds an amount at `now`. */
  add(amount: number, now: Moment): void;
  /** Puts right by `more` (or less) what was counted at `then`. */
  correct(more: number, then: Moment, now: Moment): void;
  standing(limit: number, now: Moment): Standing;
  /** What counts now. */
  readonly total: number;
  /** Whether it is as if nothing had ever been counted. */
  readonly idle: boolean;
}
