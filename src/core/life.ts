/** From the begin of a call to its end: its deadline, its caller's leaving, and who must hear of its end. */

import type { CallEnd, CallLife } from "./call.js";
import { type CallSignal, Cancellation } from "./cancellation.js";
import type { ErrorCode } from "./error-table.js";
import { callerLeft, LintelError } from "./errors.js";
import type { Enrolled } from "./roster.js";

/** The life of one call. */
export class Life implements CallLife, Enrolled {
  place = -1;
  readonly cancellation = new Cancellation();
  /** What may still go on when the call ended; absent: nothing. */
  work: Promise<void> | undefined;
  /** How the call ends, once that is decided. */
  settled: "ok" | ErrorCode | undefined;
  #origin: CallSignal | undefined;
  #timer: NodeJS.Timeout | undefined;
  #listeners: CallEnd[] | undefined;

  /**
   * Aborts the call when its caller leaves or its deadline passes.
   * @param origin aborted when the caller leaves
   * @param deadline by `performance.now`
   */
  begin(origin: CallSignal, deadline: number): void {
    const passed = () => this.abort(new LintelError("timeout", "the deadline of the call passed"));
    const leftMs = deadline - performance.now();
    if (leftMs > 0) this.#timer = setTimeout(passed, Math.ceil(leftMs));
    // A timer of no time would come after the first question to a model server.
    else passed();
    this.#origin = origin;
    if (origin.aborted) this.handleEvent();
    else origin.addEventListener("abort", this, { once: true });
  }

  /** The caller left. */
  handleEvent(): void {
    this.abort(callerLeft());
  }

  abort(reason: LintelError): void {
    this.cancellation.abort(reason);
  }

  onEnd(listener: CallEnd): void {
    if (this.#listeners) this.#listeners.push(listener);
    else this.#listeners = [listener];
  }

  settle(outcome: "ok" | ErrorCode): void {
    this.settled = outcome;
  }

  outlast(work: Promise<void>): void {
    this.work = work;
  }

  /** The call ended. */
  end(code: "ok" | ErrorCode, error?: LintelError): void {
    clearTimeout(this.#timer);
    this.#origin?.removeEventListener("abort", this);
    for (const listener of this.#listeners ?? []) listener.ended(code, error);
    this.#listeners = undefined;
  }
}
