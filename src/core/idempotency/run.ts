/**
 * The first call under a key. It runs apart from its caller, since the one who
 * asks again mostly does so because the connection broke: for a while after the
 * caller left it goes on.
 */

import type { Call, Handle } from "../call.js";
import { type CallSignal, Cancellation } from "../cancellation.js";
import { callerLeft, type LintelError, toLintelError } from "../errors.js";
import { iterable } from "../iterate.js";
import { Life } from "../life.js";
import type { MethodName, Output } from "../methods.js";
import { encodeAbout, encodeStep } from "./parts.js";
import type { Recorder } from "./store.js";

type Batch = readonly Output<MethodName>[];

/** A call that is being recorded. Iterated by its caller, once. */
export class Run implements AsyncIterableIterator<Batch> {
  /** Resolves when it ended, however it did. */
  readonly ended: Promise<void>;
  readonly #call: Call;
  readonly #recorder: Recorder;
  #lingerMs: number;
  readonly #life = new Life();
  readonly #ready: Batch[] = [];
  #end: { readonly error?: LintelError } | undefined;
  #wake: (() => void) | undefined;
  #drained: (() => void) | undefined;
  #left = false;
  #linger: NodeJS.Timeout | undefined;

  /**
   * @param call whose caller is still there
   * @param lingerMs how long it goes on after its caller left, milliseconds
   */
  constructor(next: Handle, call: Call, recorder: Recorder, lingerMs: number) {
    this.#call = call;
    this.#recorder = recorder;
    this.#lingerMs = lingerMs;
    call.signal.addEventListener("abort", () => this.#leave(), { once: true });
    this.ended = this.#pump(next);
    call.life?.outlast(this.ended);
  }

  [Symbol.asyncIterator](): this {
    return this;
  }

  async next(): Promise<IteratorResult<Batch>> {
    for (;;) {
      const batch = this.#ready.shift();
      if (batch) {
        if (this.#ready.length === 0) this.#drained?.();
        return { done: false, value: batch };
      }
      if (this.#end?.error) throw this.#end.error;
      if (this.#end) return { done: true, value: undefined };
      await new Promise<void>((resolve) => {
        this.#wake = resolve;
      });
    }
  }

  async return(): Promise<IteratorResult<Batch>> {
    this.#leave();
    return { done: true, value: undefined };
  }

  /** Ends the work. */
  abort(reason: LintelError): void {
    this.#life.abort(reason);
  }

  /** It may not go on without its caller any more; if it does, it ends. */
  abandon(reason: LintelError): void {
    this.#lingerMs = 0;
    if (this.#left) this.abort(reason);
  }

  async #pump(next: Handle): Promise<void> {
    const signal = this.#life.cancellation;
    // Every call of a core has a deadline.
    this.#life.begin(new Cancellation(), this.#call.deadline as number);
    let code: Parameters<Life["end"]>[0] = "ok";
    try {
      let about = false;
      const source = next({ ...this.#call, signal, life: this.#life });
      for await (const batch of untilAborted(source, signal)) {
        if (this.#recorder.recording) {
          if (!about) this.#recorder.append(encodeAbout(this.#call));
          about = true;
          this.#recorder.append(encodeStep(this.#call.method, batch));
        }
        await this.#hand(batch);
      }
      this.#recorder.finish();
      this.#finish({});
    } catch (thrown) {
      const error = toLintelError(thrown);
      code = error.code;
      this.#recorder.forget();
      this.#finish({ error });
    } finally {
      clearTimeout(this.#linger);
      this.#life.end(code);
      // What still works on an answer that failed is to stop.
      if (this.#end?.error) this.abort(this.#end.error);
    }
  }

  /** Gives a batch to the caller. What is recorded need not wait until it is read; all else does. */
  async #hand(batch: Batch): Promise<void> {
    if (this.#left) {
      if (!this.#recorder.recording) this.abort(callerLeft());
      return;
    }
    this.#ready.push(batch);
    this.#wake?.();
    if (this.#recorder.recording) return;
    await new Promise<void>((resolve) => {
      this.#drained = resolve;
    });
  }

  #finish(end: { readonly error?: LintelError }): void {
    this.#end = end;
    this.#wake?.();
  }

  #leave(): void {
    if (this.#left || this.#end) return;
    this.#left = true;
    this.#ready.length = 0;
    this.#drained?.();
    const { signal } = this.#call;
    // A deadline that passed ends it all the same: it has one of its own.
    if (this.#lingerMs > 0 && this.#recorder.recording) this.#wait();
    else this.abort(toLintelError(signal.aborted ? signal.reason : callerLeft()));
  }

  /** Goes on for a while, and longer if by then somebody asked again. */
  #wait(): void {
    this.#linger = setTimeout(async () => {
      const wanted = this.#recorder.recording && (await this.#recorder.wanted());
      if (this.#end) return;
      if (wanted) this.#wait();
      else this.abort(callerLeft());
    }, this.#lingerMs);
  }
}

/** The iteration, that ends with the signal also where its source is slow to notice. */
function untilAborted<T>(source: AsyncIterable<T>, signal: CallSignal): AsyncIterable<T> {
  const iterator = source[Symbol.asyncIterator]();
  let reject: ((reason: unknown) => void) | undefined;
  const aborted = () => {
    reject?.(signal.reason);
    iterator.return?.().catch(() => {});
  };
  signal.addEventListener("abort", aborted, { once: true });
  return iterable(() => ({
    next: () =>
      new Promise((resolve, fail) => {
        signal.throwIfAborted();
        reject = fail;
        iterator.next().then(resolve, fail);
      }),
  }));
}
