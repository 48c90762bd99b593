/** Whether an engine gets on with what it does, as it is seen from outside of its process. */

/** What of it crosses to another process. */
export interface EngineReport {
  /** What is done: `loading tiny`. */
  readonly what: string;
  /** Changes whenever it gets on. */
  readonly moves: number;
}

/** One kind of work of an engine. It counts and holds no timer: it is in the way of every token. */
export class EngineProgress {
  readonly #what: string;
  #running = 0;
  #moves = 0;

  /** @param what is done, for people; default: nobody looks */
  constructor(what = "") {
    this.#what = what;
  }

  /** A piece of native work begins; several may run at once. */
  begin(): void {
    this.#running++;
  }

  /** One of them is over, however it ended. */
  end(): void {
    this.#running--;
    this.#moves++;
  }

  /** What runs got on. */
  moved(): void {
    this.#moves++;
  }

  /** What runs now, if anything. */
  report(): EngineReport | undefined {
    return this.#running > 0 ? { what: this.#what, moves: this.#moves } : undefined;
  }
}
