/**
 * The calls to one server, in order. It makes one image at a time whatever is
 * sent: a call that waits here can be given up, and knows how many are before it.
 */

/** Where a call stands. */
export interface Place {
  /** Calls before this one; 0: it is its turn. */
  readonly ahead: number;
  /** Resolves when that has changed. */
  readonly moved: Promise<void>;
}

/** A call's stay in the lane. */
export class Turn {
  readonly #leave: () => void;
  #ahead: number;
  #moved: Promise<void>;
  #move: () => void = () => {};

  constructor(ahead: number, leave: () => void) {
    this.#leave = leave;
    this.#ahead = ahead;
    this.#moved = this.#next();
  }

  get place(): Place {
    return { ahead: this.#ahead, moved: this.#moved };
  }

  /** Called by the lane. */
  moveTo(ahead: number): void {
    if (ahead === this.#ahead) return;
    this.#ahead = ahead;
    const move = this.#move;
    this.#moved = this.#next();
    move();
  }

  /** Lets the next ones come; only the first time counts. */
  leave(): void {
    this.#leave();
  }

  #next(): Promise<void> {
    return new Promise((resolve) => {
      this.#move = resolve;
    });
  }
}

/** The order of the calls. */
export class Lane {
  #turns: Turn[] = [];

  /** Takes the last place. */
  enter(): Turn {
    const turn: Turn = new Turn(this.#turns.length, () => {
      this.#turns = this.#turns.filter((other) => other !== turn);
      for (const [ahead, other] of this.#turns.entries()) other.moveTo(ahead);
    });
    this.#turns.push(turn);
    return turn;
  }
}
