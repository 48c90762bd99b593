/** Who is served, one at a time, first come first served. */

/** A place in the line. */
export interface Place {
  /** Resolves when it is this one's turn, or when the place was given up. */
  readonly turn: Promise<void>;
  /** Gives the place up; whoever is behind moves on. Nothing happens the second time. */
  leave(): void;
}

interface Waiting {
  go(): void;
  moved(position: number): void;
}

/** A line of which the first is served. */
export class Line {
  readonly #places: Waiting[] = [];

  /** How many there are, the one that is served included. */
  get length(): number {
    return this.#places.length;
  }

  /**
   * Joins the line at its end.
   * @param moved told how many are in front, at once and whenever that changes; not when there are none
   */
  join(moved: (position: number) => void = () => {}): Place {
    let go = () => {};
    const turn = new Promise<void>((resolve) => {
      go = resolve;
    });
    const own: Waiting = { go, moved };
    const position = this.#places.push(own) - 1;
    if (position === 0) go();
    else moved(position);
    return {
      turn,
      leave: () => {
        const at = this.#places.indexOf(own);
        if (at < 0) return;
        this.#places.splice(at, 1);
        go();
        for (const [i, place] of this.#places.entries()) {
          if (i < at) continue;
          if (i === 0) place.go();
          else place.moved(i);
        }
      },
    };
  }
}
