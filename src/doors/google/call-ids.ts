/** Ids of calls, of which Gemini's clients may send none: there what a function returned goes by its name. */

interface Open {
  readonly id: unknown;
  answered: boolean;
}

/** Finds the calls of one conversation that results belong to. */
export class CallIds {
  #count = 0;
  readonly #byId = new Map<unknown, Open>();
  /** Calls of each name from the first one on that may wait still. */
  readonly #byName = new Map<unknown, { readonly calls: Open[]; next: number }>();

  /** The id of a call. */
  called(id: unknown, name: unknown): unknown {
    const call = { id: isSaid(id) ? id : `call_${this.#count++}`, answered: false };
    this.#byId.set(call.id, call);
    const named = this.#byName.get(name) ?? { calls: [], next: 0 };
    named.calls.push(call);
    this.#byName.set(name, named);
    return call.id;
  }

  /** The id of the call that something came of: its own, else that of the first of its name that waits. */
  returned(id: unknown, name: unknown): unknown {
    const call = isSaid(id) ? this.#byId.get(id) : this.#waiting(name);
    if (call) call.answered = true;
    // What nobody called is told as the user's.
    return isSaid(id) ? id : (call?.id ?? "");
  }

  #waiting(name: unknown): Open | undefined {
    const named = this.#byName.get(name);
    if (!named) return undefined;
    while (named.calls[named.next]?.answered) named.next++;
    return named.calls[named.next];
  }
}

const isSaid = (id: unknown): boolean => id !== undefined && id !== null && id !== "";
