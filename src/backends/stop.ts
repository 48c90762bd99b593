/** Finds the texts at which generation stops, also where pieces cut them. */

/** Lets text through as far as it can't be the beginning of a stop text. */
export class StopScanner {
  readonly #stops: readonly string[];
  #held = "";

  constructor(stops: readonly string[]) {
    this.#stops = stops.filter((stop) => stop !== "");
  }

  /**
   * Takes the next piece.
   * @returns the text that may go out, and the stop text that was found behind it
   */
  push(piece: string): { readonly text: string; readonly stop?: string } {
    if (this.#stops.length === 0) return { text: piece };
    const text = this.#held + piece;
    const [first] = this.#stops
      .map((stop) => ({ stop, at: text.indexOf(stop) }))
      .filter(({ at }) => at >= 0)
      .sort((one, other) => one.at - other.at);
    if (first) {
      this.#held = "";
      return { text: text.slice(0, first.at), stop: first.stop };
    }
    const keep = Math.max(...this.#stops.map((stop) => overlap(text, stop)));
    this.#held = text.slice(text.length - keep);
    return { text: text.slice(0, text.length - keep) };
  }

  /** What was held back, once no more text comes. */
  flush(): string {
    const rest = this.#held;
    this.#held = "";
    return rest;
  }
}

/** Length of the longest end of the text with which the stop text begins, short of all of it. */
export function overlap(text: string, stop: string): number {
  for (let length = Math.min(text.length, stop.length - 1); length > 0; length--) {
    if (text.endsWith(stop.slice(0, length))) return length;
  }
  return 0;
}
