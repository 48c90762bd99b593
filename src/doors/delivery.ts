/** An answer on its way to its client. */
import { ask, type Waiter } from "../core/steps.js";

/** Takes the steps of an answer one after the other, each once the client has read. */
export abstract class Delivery<T> implements Waiter<IteratorResult<T>> {
  readonly #iterator: AsyncIterator<T>;

  constructor(steps: AsyncIterable<T>) {
    this.#iterator = steps[Symbol.asyncIterator]();
  }

  start(): void {
    ask(this.#iterator, this);
  }

  came(step: IteratorResult<T>): void {
    let full: Promise<void> | undefined;
    try {
      full = this.take(step);
    } catch (thrown) {
      void this.#iterator.return?.();
      this.failed(thrown);
      return;
    }
    if (step.done) return;
    if (full) void full.then(() => this.start());
    else this.start();
  }

  abstract failed(thrown: unknown): void;

  /**
   * Sends what a step brings, or the end.
   * @returns if the client has to read first: resolves when it did, or left
   * @throws if that can't be encoded: the answer ends with that as its failure, and the call with it
   */
  protected abstract take(step: IteratorResult<T>): Promise<void> | undefined;
}
