/** A fixed set of things that calls borrow, first come first served. */
import type { CallSignal } from "../../core/cancellation.js";

/** Lends its items; waits in line when all are taken. */
export class Pool<T> {
  readonly #free: T[];
  readonly #line: Waiting<T>[] = [];

  constructor(items: readonly T[]) {
    this.#free = [...items];
  }

  /**
   * Borrows an item. Whoever waits leaves the line when the signal aborts.
   * @param fitness chooses among the free items: the highest wins
   * @throws the signal's reason
   */
  acquire(signal: CallSignal, fitness: (item: T) => number): Promise<T> {
    if (signal.aborted) return Promise.reject(signal.reason);
    if (this.#free.length > 0) return Promise.resolve(this.#best(fitness));
    return new Promise((resolve, reject) => {
      const leave = () => {
        this.#line.splice(this.#line.indexOf(waiting), 1);
        reject(signal.reason);
      };
      const waiting: Waiting<T> = (item) => {
        signal.removeEventListener("abort", leave);
        resolve(item);
      };
      this.#line.push(waiting);
      signal.addEventListener("abort", leave, { once: true });
    });
  }

  /** Gives an item back. */
  release(item: T): void {
    const next = this.#line.shift();
    if (next) next(item);
    else this.#free.push(item);
  }

  #best(fitness: (item: T) => number): T {
    const scores = this.#free.map(fitness);
    const [item] = this.#free.splice(scores.indexOf(Math.max(...scores)), 1);
    return item as T;
  }
}

type Waiting<T> = (item: T) => void;
