/** Refusals of a target that is at its limit, and does not say until when. */
import type { HealthSettings } from "./settings.js";

/** Of one endpoint. Times as its clock says. */
export class Refusals {
  readonly #settings: HealthSettings;
  #inARow = 0;
  #lastAt = Number.NEGATIVE_INFINITY;
  #pauseMs = 0;
  #until = Number.NEGATIVE_INFINITY;

  /** As many in a row as take one out that fails count, and its pauses. */
  constructor(settings: HealthSettings) {
    this.#settings = settings;
  }

  /** When it is asked again as any other; may lie in the past. */
  get until(): number {
    return this.#until;
  }

  /** Whether others are asked before it. */
  waits(now: number): boolean {
    return now < this.#until;
  }

  /** It refused a call. */
  refused(now: number): void {
    const { failures, firstPauseMs, longestPauseMs } = this.#settings;
    this.#inARow++;
    this.#lastAt = now;
    // Those that were on their way say no more than the one before.
    if (this.#inARow < failures || this.waits(now)) return;
    this.#pauseMs = Math.min(longestPauseMs, this.#pauseMs * 2 || firstPauseMs);
    this.#until = now + this.#pauseMs;
  }

  /** It answered a call that began then. */
  answered(since: number): void {
    if (this.#inARow === 0 || since < this.#lastAt) return;
    this.#inARow = 0;
    this.#pauseMs = 0;
    this.#until = Number.NEGATIVE_INFINITY;
  }
}
