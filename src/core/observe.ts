/**
 * The outermost step: starts and ends a call. Everything thrown becomes a
 * `LintelError` here, and a caller who left is let go at once even if a backend
 * is slow to notice.
 */
import { performance } from "node:perf_hooks";
import type { Cancellation } from "./cancellation.js";
import type { ErrorCode } from "./error-table.js";
import { callerLeft, type LintelError, toLintelError } from "./errors.js";
import { ask, Steps, type Waiter } from "./steps.js";
import type { CallOutcome } from "./telemetry.js";

/** What is done as a call begins, goes on and ends. */
export interface Hooks<T> {
  /** Runs the chain. */
  start(): AsyncIterable<T>;
  /** Whether the first message is the last, and nothing is held behind it: nobody asks for the end then. */
  readonly whole: boolean;
  /** How the call ends, once that is written down: what comes then is the last message, or the failure. */
  settled(): "ok" | ErrorCode | undefined;
  /** Called before anything runs; what it throws ends the call. */
  begin(): void;
  /** Called with everything that the caller gets. */
  saw(value: T): void;
  /** Called once, however the call ended, also if `begin` threw. */
  end(outcome: CallOutcome, error: LintelError | undefined): void;
}

/** A call's messages with its life around them. */
export class Observed<T>
  extends Steps<T>
  implements AsyncIterableIterator<T>, Waiter<IteratorResult<T>>
{
  readonly #cancellation: Cancellation;
  readonly #hooks: Hooks<T>;
  #source: AsyncIterator<T> | undefined;
  /** The step that is on its way. */
  #asked: Waiter<IteratorResult<T>> | undefined;
  /** Why it ended between two steps: the next one tells. */
  #untold: LintelError | undefined;
  #state: "new" | "running" | "ended" = "new";
  /** Whether the caller has the last message: nothing but the end follows. */
  #complete = false;
  #startedAt = 0;
  #firstAt: number | undefined;

  /**
   * @param cancellation the call's own; aborted here if the caller stops early
   */
  constructor(cancellation: Cancellation, hooks: Hooks<T>) {
    super();
    this.#cancellation = cancellation;
    this.#hooks = hooks;
  }

  [Symbol.asyncIterator](): this {
    return this;
  }

  ask(by: Waiter<IteratorResult<T>>): void {
    if (this.#state === "ended") {
      const error = this.#untold;
      this.#untold = undefined;
      if (error) by.failed(error);
      else by.came({ done: true, value: undefined });
      return;
    }
    this.#asked = by;
    try {
      if (this.#state === "new") this.#begin();
      if (this.#complete && this.#cancellation.aborted) {
        this.#over();
        return;
      }
      this.#cancellation.throwIfAborted();
      this.#source ??= this.#hooks.start()[Symbol.asyncIterator]();
    } catch (thrown) {
      this.failed(thrown);
      return;
    }
    ask(this.#source, this);
  }

  /** The caller stops before the end: the work behind is aborted. */
  async return(): Promise<IteratorResult<T>> {
    this.#untold = undefined;
    if (this.#state === "running") {
      const reason = callerLeft();
      const settled = this.#hooks.settled();
      // Why, as where the signal tells first: such a call is no success, which a share of is logged.
      if (settled) this.#end(settled);
      else this.#end("cancelled", reason);
      this.#cancellation.abort(reason);
      this.#release();
      this.#settle(undefined, reason);
    }
    this.#state = "ended";
    return { done: true, value: undefined };
  }

  came(result: IteratorResult<T>): void {
    // Who left meanwhile was told so.
    if (this.#state === "ended") return;
    try {
      if (result.done) this.#end("ok");
      else {
        this.#firstAt ??= performance.now();
        this.#hooks.saw(result.value);
        this.#complete = this.#hooks.settled() !== undefined;
        if (this.#hooks.whole) this.#end("ok");
      }
    } catch (thrown) {
      this.#settle(undefined, toLintelError(thrown));
      return;
    }
    this.#settle(result);
    if (this.#complete && this.#cancellation.aborted) this.#over();
  }

  failed(thrown: unknown): void {
    if (this.#state === "ended") return;
    if (this.#complete) {
      this.#over();
      return;
    }
    const { aborted, reason } = this.#cancellation;
    const error = toLintelError(aborted && !this.#hooks.settled() ? reason : thrown);
    this.#end(error.code, error);
    // Also what the gateway itself found wrong with an answer is to stop the model server.
    this.#cancellation.abort(error);
    this.#release();
    if (!this.#asked) this.#untold = error;
    this.#settle(undefined, error);
  }

  /**
   * The caller left, the deadline passed, or the gateway shuts down. Also between two steps: a caller
   * who reads slowly, or not at all, must not hold the call.
   */
  handleEvent(): void {
    if (this.#complete) this.#over();
    // Else what was written down is on its way to the caller.
    else if (!this.#hooks.settled()) this.failed(this.#cancellation.reason);
  }

  /** Nothing is missing, but the end is not waited for. */
  #over(): void {
    if (this.#state === "running") {
      this.#end("ok");
      this.#release();
    }
    this.#settle({ done: true, value: undefined });
  }

  /** Answers the step that is asked for, if one is. */
  #settle(result: IteratorResult<T> | undefined, error?: LintelError): void {
    const asked = this.#asked;
    this.#asked = undefined;
    if (result) asked?.came(result);
    else asked?.failed(error);
  }

  /** Lets what is held behind a step that nobody asks for any more be freed. */
  #release(): void {
    this.#source?.return?.().catch(() => {});
  }

  #begin(): void {
    this.#state = "running";
    this.#startedAt = performance.now();
    this.#hooks.begin();
    this.#cancellation.addEventListener("abort", this);
  }

  #end(code: "ok" | ErrorCode, error?: LintelError): void {
    this.#state = "ended";
    const endedAt = performance.now();
    const totalMs = endedAt - this.#startedAt;
    const firstMs = this.#firstAt === undefined ? undefined : this.#firstAt - this.#startedAt;
    this.#hooks.end({ code, firstMs, totalMs, endedAt }, error);
  }
}
