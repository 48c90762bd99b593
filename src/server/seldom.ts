/** What the log hears of as seldom as people can read. */
import { performance } from "node:perf_hooks";

/**
 * Tells of something, unless it did so a moment ago.
 * @param intervalMs how often at most, milliseconds. Default 1000
 */
export function seldom<T>(tell: (what: T) => void, intervalMs = 1000): (what: T) => void {
  let last = Number.NEGATIVE_INFINITY;
  return (what) => {
    if (performance.now() - last < intervalMs) return;
    last = performance.now();
    tell(what);
  };
}
