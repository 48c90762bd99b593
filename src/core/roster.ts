/**
 * What runs now. Not a `Set`: when one of those grows or shrinks, its old table
 * points to the new one, and whatever ran at that time is kept until the next
 * full collection; under load that is most of what calls leave behind.
 */

/** Something that knows its place in a roster. */
export interface Enrolled {
  /** Set by the roster. -1: it is in none. */
  place: number;
}

/** Members in no order; each is in one roster at most. */
export class Roster<T extends Enrolled> implements Iterable<T> {
  readonly #members: T[] = [];
  readonly #waiting = new Set<() => void>();

  get size(): number {
    return this.#members.length;
  }

  add(member: T): void {
    if (member.place >= 0) return;
    member.place = this.#members.length;
    this.#members.push(member);
  }

  /** Nothing happens if it is not a member. */
  delete(member: T): void {
    const last = this.#members.at(-1);
    if (member.place < 0 || !last) return;
    this.#members[member.place] = last;
    last.place = member.place;
    this.#members.pop();
    member.place = -1;
    if (this.#members.length === 0 && this.#waiting.size > 0) this.#settle();
  }

  /** Resolves once it has no member. */
  none(): Promise<void> {
    return new Promise((done) => {
      this.#waiting.add(done);
      if (this.#members.length === 0) this.#settle();
    });
  }

  /** Of those who are members now. */
  [Symbol.iterator](): Iterator<T> {
    return [...this.#members].values();
  }

  #settle(): void {
    for (const done of this.#waiting) done();
    this.#waiting.clear();
  }
}
