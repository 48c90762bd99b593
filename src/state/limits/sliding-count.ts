/** What a sliding window counts, in memory. */
import type { Standing } from "../../core/limits/store.js";
import type { Count, Moment } from "./count.js";

/** Steps of a sliding window: what was counted leaves it at most one step late, never early. */
export const stepsPerWindow = 60;

/** What counts in a window that slides by steps; only steps in which something happened are kept. */
export class SlidingCount implements Count {
  readonly #stepMs: number;
  /** Numbers of steps since the epoch, ascending, and what was counted in each. */
  #steps: number[] = [];
  #amounts: number[] = [];
  #total = 0;

  constructor(windowMs: number) {
    this.#stepMs = windowMs / stepsPerWindow;
  }

  get idle(): boolean {
    return this.#steps.length === 0;
  }

  get total(): number {
    return this.#total;
  }

  advance(now: Moment): void {
    const first = Math.floor(now.steady / this.#stepMs) - stepsPerWindow;
    let gone = 0;
    for (; gone < this.#steps.length && (this.#steps[gone] as number) < first; gone++) {
      this.#total -= this.#amounts[gone] as number;
    }
    if (gone === 0) return;
    this.#steps.splice(0, gone);
    this.#amounts.splice(0, gone);
  }

  waitFor(amount: number, limit: number, now: Moment): number {
    let excess = this.#total + amount - limit;
    if (excess <= 0) return 0;
    if (amount > limit) return Number.POSITIVE_INFINITY;
    for (const [i, step] of this.#steps.entries()) {
      excess -= this.#amounts[i] as number;
      if (excess <= 0) return this.#leavesAt(step) - now.steady;
    }
    return 0;
  }

  add(amount: number, now: Moment): void {
    this.#total += amount;
    const step = Math.floor(now.steady / this.#stepMs);
    const last = this.#steps.length - 1;
    if (this.#steps[last] === step) {
      this.#amounts[last] = (this.#amounts[last] as number) + amount;
    } else {
      this.#steps.push(step);
      this.#amounts.push(amount);
    }
  }

  correct(more: number, then: Moment, now: Moment): void {
    if (more > 0) {
      this.add(more, now);
      return;
    }
    const step = Math.floor(then.steady / this.#stepMs);
    const i = this.#steps.findLastIndex((s) => s <= step);
    if (this.#steps[i] !== step) return;
    const less = Math.min(-more, this.#amounts[i] as number);
    this.#amounts[i] = (this.#amounts[i] as number) - less;
    this.#total -= less;
  }

  standing(limit: number, now: Moment): Standing {
    const last = this.#steps.at(-1);
    const resetMs = this.#total === 0 || last === undefined ? 0 : this.#leavesAt(last) - now.steady;
    return { remaining: Math.max(0, limit - this.#total), resetMs };
  }

  #leavesAt(step: number): number {
    return (step + stepsPerWindow + 1) * this.#stepMs;
  }
}
