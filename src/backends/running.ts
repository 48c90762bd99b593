/** The calls that a backend has at work, so that closing it ends them. */
import type { CallSignal } from "../core/cancellation.js";

/** A call's own signal, which also aborts when the backend is closed. */
export interface Followed {
  readonly signal: AbortSignal;
  /** To be called when the call is over. */
  end(): void;
}

/** Calls at work. `AbortSignal.any` with a signal that lives as long as the backend would pile up. */
export class Running {
  readonly #controllers = new Set<AbortController>();
  #reason: unknown;

  /**
   * A signal that aborts with the caller's, or when all are ended.
   * @throws the reason, if all were ended already, or the caller has left
   */
  follow(caller: CallSignal): Followed {
    if (this.#reason !== undefined) throw this.#reason;
    caller.throwIfAborted();
    const controller = new AbortController();
    const left = () => controller.abort(caller.reason);
    caller.addEventListener("abort", left, { once: true });
    this.#controllers.add(controller);
    return {
      signal: controller.signal,
      end: () => {
        caller.removeEventListener("abort", left);
        this.#controllers.delete(controller);
      },
    };
  }

  /** Ends all, and all that would come. */
  endAll(reason: unknown): void {
    this.#reason ??= reason;
    for (const controller of this.#controllers) controller.abort(this.#reason);
  }
}
