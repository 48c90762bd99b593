/**
 * Steps of an iteration that are told to who waits for them. A promise for each, passed on from
 * step to step of the core, is a few hundred bytes that live until the next piece of a stream comes:
 * just long enough to be taken for what stays (bench/NOTES.md).
 */

/** Who waits for one thing. Neither call throws. */
export interface Waiter<T> {
  came(value: T): void;
  failed(reason: unknown): void;
}

/** An iterator that tells its steps. For everybody else it is one like any other. */
export abstract class Steps<T> implements AsyncIterator<T> {
  /**
   * Asks for the next step, once the one before has come. It may come at once, ahead of the
   * return. Never throws.
   */
  abstract ask(by: Waiter<IteratorResult<T>>): void;

  abstract return(): Promise<IteratorResult<T>>;

  next(): Promise<IteratorResult<T>> {
    return new Promise((came, failed) => this.ask({ came, failed }));
  }
}

/** Steps of another iterator, passed on as they come; who extends it changes what passes. */
export abstract class Relay<T> extends Steps<T> implements Waiter<IteratorResult<T>> {
  protected readonly source: AsyncIterator<T>;
  /** Who waits for a step. */
  protected by: Waiter<IteratorResult<T>> | undefined;

  constructor(source: AsyncIterator<T>) {
    super();
    this.source = source;
  }

  ask(by: Waiter<IteratorResult<T>>): void {
    this.by = by;
    ask(this.source, this);
  }

  came(step: IteratorResult<T>): void {
    this.by?.came(step);
  }

  failed(reason: unknown): void {
    this.by?.failed(reason);
  }

  async return(): Promise<IteratorResult<T>> {
    await this.source.return?.();
    return { done: true, value: undefined };
  }
}

/** Asks any iterator for its next step. Never throws. */
export function ask<T>(iterator: AsyncIterator<T>, by: Waiter<IteratorResult<T>>): void {
  if (iterator instanceof Steps) {
    iterator.ask(by);
    return;
  }
  let next: Promise<IteratorResult<T>>;
  try {
    next = iterator.next();
  } catch (thrown) {
    by.failed(thrown);
    return;
  }
  tell(next, by);
}

/** Tells what becomes of a promise. */
export function tell<T>(promise: Promise<T>, to: Waiter<T>): void {
  promise.then(
    (value) => to.came(value),
    (reason: unknown) => to.failed(reason),
  );
}
