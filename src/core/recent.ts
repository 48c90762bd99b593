/** A map of bounded size that keeps what was used last. */

/**
 * Keeps two generations: when the newer one is full, the older one goes. So a
 * look-up moves nothing but what was not used for long, and at least half of
 * the capacity is what was used last.
 */
export class Recent<K, V> {
  readonly #half: number;
  #newer = new Map<K, V>();
  #older = new Map<K, V>();

  /** @param capacity most entries */
  constructor(capacity: number) {
    this.#half = Math.max(1, Math.floor(capacity / 2));
  }

  get(key: K): V | undefined {
    const found = this.#newer.get(key);
    if (found !== undefined) return found;
    const aged = this.#older.get(key);
    if (aged !== undefined) this.set(key, aged);
    return aged;
  }

  set(key: K, value: V): void {
    if (this.#newer.size >= this.#half && !this.#newer.has(key)) {
      this.#older = this.#newer;
      this.#newer = new Map();
    }
    this.#older.delete(key);
    this.#newer.set(key, value);
  }

  delete(key: K): void {
    this.#newer.delete(key);
    this.#older.delete(key);
  }

  clear(): void {
    this.#newer.clear();
    this.#older.clear();
  }

  *entries(): IterableIterator<[K, V]> {
    yield* this.#older;
    yield* this.#newer;
  }
}
