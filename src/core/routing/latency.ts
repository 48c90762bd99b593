/** How long the last calls took. */

const kept = 128;

/** Percentiles, milliseconds. */
export interface Percentiles {
  readonly p50: number;
  readonly p95: number;
  readonly p99: number;
}

/** The latest times, and percentiles of them. */
export class Latency {
  readonly #times = new Float64Array(kept);
  #count = 0;
  #sorted: Float64Array | undefined;
  #sortedAt = 0;

  /** How many times are known, at most the last 128. */
  get samples(): number {
    return Math.min(this.#count, kept);
  }

  /** @param ms milliseconds */
  add(ms: number): void {
    this.#times[this.#count++ % kept] = ms;
  }

  /** Milliseconds; `undefined` as long as there is none. Sorts anew only now and then. */
  percentile(percent: number): number | undefined {
    const { samples } = this;
    if (samples === 0) return undefined;
    if (!this.#sorted || this.#count - this.#sortedAt >= Math.max(1, samples >> 4)) {
      this.#sorted = this.#times.slice(0, samples).sort();
      this.#sortedAt = this.#count;
    }
    const rank = Math.ceil((percent / 100) * this.#sorted.length);
    return this.#sorted[Math.max(0, rank - 1)];
  }

  /** `undefined` as long as there is no time. */
  percentiles(): Percentiles | undefined {
    const of = (percent: number) => this.percentile(percent) ?? 0;
    return this.#count === 0 ? undefined : { p50: of(50), p95: of(95), p99: of(99) };
  }
}
