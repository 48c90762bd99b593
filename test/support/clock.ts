/** Time and chance that a test holds in its hands. */
import type { Clock, Timer } from "../../src/core/routing/clock.js";

interface Pending {
  readonly ms: number;
  readonly run: () => void;
  due: number;
}

/** Lets everything happen that needs no time to pass. */
export async function settled(): Promise<void> {
  for (let i = 0; i < 10; i++) await new Promise(setImmediate);
}

/** A clock that stands still until it is told. */
export class FakeClock implements Clock {
  #now = 1_000_000;
  readonly #pending = new Set<Pending>();

  now(): number {
    return this.#now;
  }

  wall(): number {
    return Date.now();
  }

  after(ms: number, run: () => void): Timer {
    const pending: Pending = { ms, run, due: this.#now + ms };
    this.#pending.add(pending);
    return {
      refresh: () => {
        pending.due = this.#now + ms;
        this.#pending.add(pending);
      },
      cancel: () => {
        this.#pending.delete(pending);
      },
    };
  }

  /** Timers that have not run out. */
  get timers(): number {
    return this.#pending.size;
  }

  /** Lets time pass, with everything that it brings. */
  async advance(ms: number): Promise<void> {
    const end = this.#now + ms;
    await settled();
    for (;;) {
      const [next] = [...this.#pending].sort((a, b) => a.due - b.due);
      if (!next || next.due > end) break;
      this.#now = Math.max(this.#now, next.due);
      this.#pending.delete(next);
      next.run();
      await settled();
    }
    this.#now = end;
    await settled();
  }
}

/** Chance that comes out the same every time (mulberry32). */
export function seeded(seed: number): () => number {
  let state = seed;
  return () => {
    state = (state + 0x6d2b79f5) | 0;
    let t = Math.imul(state ^ (state >>> 15), 1 | state);
    t = (t + Math.imul(t ^ (t >>> 7), 61 | t)) ^ t;
    return ((t ^ (t >>> 14)) >>> 0) / 2 ** 32;
  };
}
