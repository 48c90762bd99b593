/** Time, as far as routing needs it: tests bring their own. */

import { performance } from "node:perf_hooks";
import type { CallSignal } from "../cancellation.js";
import { longestTimerMs } from "../timers.js";

/** A timer that runs out once, and can be wound up again without being made anew. */
export interface Timer {
  /** Lets the whole time pass again, also if it ran out already. */
  refresh(): void;
  cancel(): void;
}

/** A source of time. */
export interface Clock {
  /** Milliseconds since some moment; never goes back. */
  now(): number;
  /** The time of day of a moment, milliseconds since the epoch. */
  wall(now: number): number;
  /** Calls `run` after some milliseconds. Does not keep the process alive. */
  after(ms: number, run: () => void): Timer;
}

/** Asking the system for the time of day costs as much as a choice of a target. */
const syncMs = 1000;
let syncedAt = Number.NEGATIVE_INFINITY;
let offset = 0;

/** The process's own time. */
export const systemClock: Clock = {
  now: () => performance.now(),
  wall(now) {
    // Either way: tests set the process's clock ahead for a moment, and all that follows would tell another day.
    if (Math.abs(now - syncedAt) > syncMs) {
      syncedAt = now;
      offset = Date.now() - performance.now();
    }
    return now + offset;
  },
  after(ms, run) {
    const timer = setTimeout(run, Math.min(ms, longestTimerMs)).unref();
    return { refresh: () => void timer.refresh(), cancel: () => clearTimeout(timer) };
  },
};

/**
 * Waits.
 * @throws the signal's reason, at once when it aborts
 */
export function pause(clock: Clock, ms: number, signal: CallSignal): Promise<void> {
  return new Promise((resolve, reject) => {
    if (signal.aborted) return reject(signal.reason);
    const left = () => {
      timer.cancel();
      reject(signal.reason);
    };
    const timer = clock.after(ms, () => {
      signal.removeEventListener("abort", left);
      resolve();
    });
    signal.addEventListener("abort", left, { once: true });
  });
}
