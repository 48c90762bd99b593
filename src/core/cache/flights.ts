/** Whole answers that are on their way to one caller, for those who ask the same meanwhile. */

/**
 * What became of one: as it would be kept; `undefined`, it is for nobody else, or failed; `left`,
 * its caller did not wait for it.
 */
export type Landed = Uint8Array | "left" | undefined;

/** The questions that a model is being asked by this process. */
export class Flights {
  readonly #waiting = new Map<string, ((landed: Landed) => void)[]>();

  /** What becomes of the answer to a question, which is asked already; `undefined`: it is not. */
  of(name: string): Promise<Landed> | undefined {
    const waiting = this.#waiting.get(name);
    return waiting && new Promise((resolve) => waiting.push(resolve));
  }

  /**
   * A question is asked.
   * @returns to be told what becomes of it; only the first time counts
   */
  begin(name: string): (landed: Landed) => void {
    const waiting: ((landed: Landed) => void)[] = [];
    this.#waiting.set(name, waiting);
    return (landed) => {
      // One that had to be asked anew may have taken its place.
      if (this.#waiting.get(name) === waiting) this.#waiting.delete(name);
      for (const resolve of waiting) resolve(landed);
    };
  }
}
