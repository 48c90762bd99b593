/** How a call hears that it shall stop. */

/**
 * What the core and backends use of a signal. An `AbortSignal` fits; Node's own
 * costs 3 µs to make and as much to listen to, which is more than a call has to
 * spare, so calls have a `Cancellation`.
 */
export interface CallSignal {
  readonly aborted: boolean;
  /** Why; a `LintelError` where it is a call's. */
  readonly reason: unknown;
  /** @throws the reason, if aborted */
  throwIfAborted(): void;
  /** The listener hears once. It is not called if the signal was aborted before. */
  addEventListener(type: "abort", listener: AbortListener, options?: { once: boolean }): void;
  removeEventListener(type: "abort", listener: AbortListener): void;
}

/** As the DOM has them. An object that hears by itself needs no closure, which a stream would keep to its end. */
export type AbortListener = (() => void) | { handleEvent(): void };

/** A signal and the way to abort it. */
export class Cancellation implements CallSignal {
  #reason: unknown;
  #aborted = false;
  #listeners: AbortListener[] | undefined;
  #native: AbortController | undefined;

  get aborted(): boolean {
    return this.#aborted;
  }

  get reason(): unknown {
    return this.#reason;
  }

  /** The same as an `AbortSignal`, for what wants a real one. Made when first asked for. */
  get native(): AbortSignal {
    if (!this.#native) {
      this.#native = new AbortController();
      if (this.#aborted) this.#native.abort(this.#reason);
    }
    return this.#native.signal;
  }

  /** Only the first time counts. */
  abort(reason: unknown): void {
    if (this.#aborted) return;
    this.#aborted = true;
    this.#reason = reason;
    const listeners = this.#listeners ?? [];
    this.#listeners = undefined;
    this.#native?.abort(reason);
    for (const listener of listeners) {
      if (typeof listener === "function") listener();
      else listener.handleEvent();
    }
  }

  throwIfAborted(): void {
    if (this.#aborted) throw this.#reason;
  }

  addEventListener(_type: "abort", listener: AbortListener): void {
    if (this.#aborted) return;
    // A list that grows has room for sixteen more.
    this.#listeners = this.#listeners?.concat(listener) ?? [listener];
  }

  removeEventListener(_type: "abort", listener: AbortListener): void {
    const at = this.#listeners?.indexOf(listener) ?? -1;
    if (at >= 0) this.#listeners?.splice(at, 1);
  }
}

/** A signal as Node and libraries want it. */
export function nativeSignal(signal: CallSignal): AbortSignal {
  if (signal instanceof Cancellation) return signal.native;
  if (signal instanceof AbortSignal) return signal;
  const controller = new AbortController();
  if (signal.aborted) controller.abort(signal.reason);
  else signal.addEventListener("abort", () => controller.abort(signal.reason), { once: true });
  return controller.signal;
}
