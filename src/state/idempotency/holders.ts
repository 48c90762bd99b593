/** Who holds how much of something that all share: who holds most makes room first. */

/** One of them. */
export class Holder<T> {
  readonly id: string;
  /** What is complete, the oldest first. */
  readonly finished = new Set<T>();
  /** What still grows. */
  readonly growing = new Set<T>();
  /** Things of this one, also those that weigh nothing. */
  things = 0;
  weight = 0;
  /** Below 0: it weighs nothing. */
  rank = -1;

  constructor(id: string) {
    this.id = id;
  }
}

/** Ranks in which a weight doubles: weights of one rank differ by a tenth at most. */
const ranksPerDoubling = 8;

/** All of them. The heaviest is found as soon among thousands as among two. */
export class Holders<T> {
  readonly #holders = new Map<string, Holder<T>>();
  readonly #ranks: Set<Holder<T>>[] = [];

  /** Somebody has one thing more. */
  enter(id: string): Holder<T> {
    const holder = this.#holders.get(id) ?? new Holder<T>(id);
    this.#holders.set(id, holder);
    holder.things++;
    return holder;
  }

  /** Somebody has one thing less, and is forgotten with the last. */
  leave(holder: Holder<T>): void {
    if (--holder.things === 0) this.#holders.delete(holder.id);
  }

  /** What somebody has weighs more, or less. */
  weigh(holder: Holder<T>, more: number): void {
    holder.weight += more;
    const rank = holder.weight < 1 ? -1 : Math.floor(Math.log2(holder.weight) * ranksPerDoubling);
    if (rank === holder.rank) return;
    this.#ranks[holder.rank]?.delete(holder);
    holder.rank = rank;
    while (this.#ranks.length <= rank) this.#ranks.push(new Set());
    this.#ranks[rank]?.add(holder);
  }

  /**
   * Who holds most; nobody where nobody holds anything.
   * @param preferred who it is among equals
   */
  heaviest(preferred: Holder<T>): Holder<T> | undefined {
    for (let rank = this.#ranks.length - 1; rank >= 0; rank--) {
      const [first] = this.#ranks[rank] ?? [];
      if (first) return preferred.rank === rank ? preferred : first;
    }
    return undefined;
  }
}
