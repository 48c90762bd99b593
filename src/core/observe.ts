/**
 * The outermost step: starts and ends a call. Everything thrown becomes a
 * `LintelError` here, and a caller who left is let go at once even if a backend
 * is slow to notice.
 */
import { performance } from "node:perf_hooks";
import { type ErrorCode, LintelError, toLintelError } from "./errors.js";
import type { CallOutcome } from "./telemetry.js";

/** What surrounds a call's run. */
export interface Life<T> {
  /** Called before anything runs; what it throws ends the call. */
  begin(): void;
  /** Called with everything that the caller gets. */
  readonly saw?: ((value: T) => void) | undefined;
  /** Called once, however the call ended, also if `begin` threw. */
  end(outcome: CallOutcome, error: LintelError | undefined): void;
}

/** A call's messages with its life around them. */
export class Observed<T> implements AsyncIterableIterator<T> {
  readonly #controller: AbortController;
  readonly #start: () => AsyncIterable<T>;
  readonly #life: Life<T>;
  #source: AsyncIterator<T> | undefined;
  #reject: ((reason: unknown) => void) | undefined;
  #state: "new" | "running" | "ended" = "new";
  #startedAt = 0;
  #firstAt: number | undefined;

  /**
   * @param controller the call's own; aborted here if the caller stops early
   * @param start runs the chain
   */
  constructor(controller: AbortController, start: () => AsyncIterable<T>, life: Life<T>) {
    this.#controller = controller;
    this.#start = start;
    this.#life = life;
  }

  [Symbol.asyncIterator](): this {
    return this;
  }

  async next(): Promise<IteratorResult<T>> {
    if (this.#state === "ended") return { done: true, value: undefined };
    try {
      const result = await this.#step();
      if (result.done) this.#end("ok");
      else {
        this.#firstAt ??= performance.now();
        this.#life.saw?.(result.value);
      }
      return result;
    } catch (thrown) {
      const error = this.#controller.signal.aborted
        ? toLintelError(this.#controller.signal.reason)
        : toLintelError(thrown);
      this.#end(error.code, error);
      this.#release();
      throw error;
    }
  }

  /** The caller stops before the end: the work behind is aborted. */
  async return(): Promise<IteratorResult<T>> {
    if (this.#state === "running") {
      this.#controller.abort(new LintelError("cancelled", "the caller left"));
      this.#end("cancelled");
      this.#release();
    }
    this.#state = "ended";
    return { done: true, value: undefined };
  }

  /** Lets what is held behind a step that nobody asks for any more be freed. */
  #release(): void {
    this.#source?.return?.().catch(() => {});
  }

  #step(): Promise<IteratorResult<T>> {
    if (this.#state === "new") this.#begin();
    this.#controller.signal.throwIfAborted();
    this.#source ??= this.#start()[Symbol.asyncIterator]();
    const source = this.#source;
    return new Promise((resolve, reject) => {
      this.#reject = reject;
      source.next().then(resolve, reject);
    });
  }

  #begin(): void {
    this.#state = "running";
    this.#startedAt = performance.now();
    this.#life.begin();
    this.#controller.signal.addEventListener(
      "abort",
      () => this.#reject?.(this.#controller.signal.reason),
      { once: true },
    );
  }

  #end(code: "ok" | ErrorCode, error?: LintelError): void {
    // A step that was on its way when the caller stopped ends in an error, too.
    if (this.#state === "ended") return;
    this.#state = "ended";
    const totalMs = performance.now() - this.#startedAt;
    const firstMs = this.#firstAt === undefined ? undefined : this.#firstAt - this.#startedAt;
    this.#life.end({ code, firstMs, totalMs }, error);
  }
}
