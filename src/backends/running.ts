/** The calls that a backend has at work, so that closing it ends them. */
import type { CallSignal } from "../core/cancellation.js";
import { type Enrolled, Roster } from "../core/roster.js";

/** A call's own signal, which also aborts when the backend is closed. */
export class Followed implements Enrolled {
  place = -1;
  readonly #controller = new AbortController();
  readonly #caller: CallSignal;
  readonly #all: Roster<Followed>;
  readonly #left = () => this.abort(this.#caller.reason);

  constructor(caller: CallSignal, all: Roster<Followed>) {
    this.#caller = caller;
    this.#all = all;
    caller.addEventListener("abort", this.#left, { once: true });
    all.add(this);
  }

  get signal(): AbortSignal {
    return this.#controller.signal;
  }

  /** Ends the call. */
  abort(reason: unknown): void {
    this.#controller.abort(reason);
  }

  /** To be called when the call is over. */
  end(): void {
    this.#caller.removeEventListener("abort", this.#left);
    this.#all.delete(this);
  }
}

/** Calls at work. `AbortSignal.any` with a signal that lives as long as the backend would pile up. */
export class Running {
  readonly #calls = new Roster<Followed>();
  #reason: unknown;

  /**
   * A signal that aborts with the caller's, or when all are ended.
   * @throws the reason, if all were ended already, or the caller has left
   */
  follow(caller: CallSignal): Followed {
    if (this.#reason !== undefined) throw this.#reason;
    caller.throwIfAborted();
    return new Followed(caller, this.#calls);
  }

  /** Ends all, and all that would come. */
  endAll(reason: unknown): void {
    this.#reason ??= reason;
    for (const call of this.#calls) call.abort(this.#reason);
  }
}
