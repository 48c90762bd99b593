/** Ids of calls, of which Gemini's clients may send none: there what a function returned goes by its name. */

interface Open {
  readonly id: unknown;
  readonly name: unknown;
}

/** Finds the calls of one conversation that results belong to. */
export class CallIds {
  #count = 0;
  /** Calls whose results have not come yet, in their order. */
  readonly #open: Open[] = [];

  /** The id of a call. */
  called(id: unknown, name: unknown): unknown {
    const own = isSaid(id) ? id : `call_${this.#count++}`;
    this.#open.push({ id: own, name });
    return own;
  }

  /** The id of the call that something came of: its own, else that of the first of its name that waits. */
  returned(id: unknown, name: unknown): unknown {
    const i = this.#open.findIndex((call) => (isSaid(id) ? call.id === id : call.name === name));
    const [call] = i < 0 ? [] : this.#open.splice(i, 1);
    // What nobody called is told as the user's.
    return isSaid(id) ? id : (call?.id ?? "");
  }
}

const isSaid = (id: unknown): boolean => id !== undefined && id !== null && id !== "";
