/** Counts over the last stretch of time, in slots of a tenth of it. */

const slots = 10;

/** How much happened within a window, and how much of that is marked. */
export class RollingCounts {
  readonly #slotMs: number;
  readonly #totals = new Float64Array(slots);
  readonly #marks = new Float64Array(slots);
  #slot = 0;
  #total = 0;
  #marked = 0;

  /** @param windowMs milliseconds; what is older does not count, what is nearly as old may not */
  constructor(windowMs: number) {
    this.#slotMs = windowMs / slots;
  }

  /** @param now never less than before */
  add(now: number, total: number, marked: number): void {
    this.#advance(now);
    const at = this.#slot % slots;
    this.#totals[at] = (this.#totals[at] as number) + total;
    this.#marks[at] = (this.#marks[at] as number) + marked;
    this.#total += total;
    this.#marked += marked;
  }

  total(now: number): number {
    this.#advance(now);
    return this.#total;
  }

  marked(now: number): number {
    this.#advance(now);
    return this.#marked;
  }

  clear(): void {
    this.#totals.fill(0);
    this.#marks.fill(0);
    this.#total = 0;
    this.#marked = 0;
  }

  #advance(now: number): void {
    const slot = Math.floor(now / this.#slotMs);
    if (slot <= this.#slot) return;
    if (slot - this.#slot >= slots) this.clear();
    else {
      for (let passed = this.#slot + 1; passed <= slot; passed++) {
        const at = passed % slots;
        this.#total -= this.#totals[at] as number;
        this.#marked -= this.#marks[at] as number;
        this.#totals[at] = 0;
        this.#marks[at] = 0;
      }
    }
    this.#slot = slot;
  }
}
