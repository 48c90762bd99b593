/** Looks tokens up many at a time: while one question runs, those that come gather for the next. */
import { LintelError } from "../errors.js";

/** Most tokens in one question. */
const batchSize = 500;

/** Most calls that wait for an answer of the store; beyond, calls are refused. */
const queueSize = 5000;

interface Waiting<Found> {
  readonly resolve: (found: Found | undefined) => void;
  readonly reject: (error: unknown) => void;
}

/** What is found of tokens by their hashes. One question runs at a time: a flood of tokens is few of them. */
export class Lookups<Found> {
  readonly #look: (hashes: readonly string[]) => Promise<ReadonlyMap<string, Found> | undefined>;
  #queue = new Map<string, Waiting<Found>[]>();
  #asking = false;

  /** @param look finds what there is of some hashes; `undefined`: what was read is stale, they are asked for again */
  constructor(
    look: (hashes: readonly string[]) => Promise<ReadonlyMap<string, Found> | undefined>,
  ) {
    this.#look = look;
  }

  /**
   * Asks for one.
   * @returns `undefined` if there is nothing
   * @throws LintelError `unavailable` if too many wait already; what the question after it, or one ahead of that, threw
   */
  ask(hash: string): Promise<Found | undefined> {
    return new Promise((resolve, reject) => {
      const waiting = this.#queue.get(hash);
      if (waiting) waiting.push({ resolve, reject });
      else if (this.#queue.size < queueSize) this.#queue.set(hash, [{ resolve, reject }]);
      else throw new LintelError("unavailable", "too many bearer tokens wait to be checked");
      void this.#drain();
    });
  }

  /** Asks for all that wait, one question after the other. */
  async #drain(): Promise<void> {
    if (this.#asking) return;
    this.#asking = true;
    while (this.#queue.size > 0) {
      const batch = [...this.#queue].slice(0, batchSize);
      for (const [hash] of batch) this.#queue.delete(hash);
      try {
        const found = await this.#look(batch.map(([hash]) => hash));
        for (const [hash, waiting] of batch) {
          if (found) for (const { resolve } of waiting) resolve(found.get(hash));
          else this.#queue.set(hash, [...(this.#queue.get(hash) ?? []), ...waiting]);
        }
      } catch (error) {
        // Those behind them would wait as long, for the same.
        const all = [...batch, ...this.#queue];
        this.#queue.clear();
        for (const [, waiting] of all) for (const { reject } of waiting) reject(error);
      }
    }
    this.#asking = false;
  }
}
