/** An amount over the last minute, second by second. */

const secondMs = 1000;

/** One more than a minute has: what came at the end of a second counts for a whole minute, too. */
const kept = 61;

/** How much came within the last 60 seconds, and no earlier than 61. Times as a clock says that never goes back. */
export class Minute {
  readonly #seconds = new Float64Array(kept);
  #second = 0;
  #sum = 0;

  add(amount: number, now: number): void {
    this.#advance(now);
    this.#put(amount, this.#second);
  }

  /** Adds, or takes away, where something came before: nothing, where that does not count any more. */
  correct(amount: number, then: number, now: number): void {
    this.#advance(now);
    const second = Math.floor(then / secondMs);
    if (second > this.#second - kept) this.#put(amount, Math.min(second, this.#second));
  }

  sum(now: number): number {
    this.#advance(now);
    return this.#sum;
  }

  /** When the sum is no more than `most`, if nothing comes meanwhile. May be `now`. */
  fallsTo(most: number, now: number): number {
    let left = this.sum(now);
    if (left <= most) return now;
    for (let second = this.#second - kept + 1; second <= this.#second; second++) {
      if (second < 0) continue;
      left -= this.#seconds[second % kept] as number;
      if (left <= most) return (second + kept) * secondMs;
    }
    return now + kept * secondMs;
  }

  #put(amount: number, second: number): void {
    this.#seconds[second % kept] = (this.#seconds[second % kept] as number) + amount;
    this.#sum += amount;
  }

  #advance(now: number): void {
    const second = Math.floor(now / secondMs);
    if (second <= this.#second) return;
    if (second - this.#second >= kept) {
      this.#seconds.fill(0);
      this.#sum = 0;
    } else {
      for (let passed = this.#second + 1; passed <= second; passed++) {
        this.#sum -= this.#seconds[passed % kept] as number;
        this.#seconds[passed % kept] = 0;
      }
    }
    this.#second = second;
  }
}
