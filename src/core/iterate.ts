/** Async iteration without a generator's cost per step. */

/**
 * An iterable by what makes its iterator. Objects that are written out with a computed
 * key are put together in V8's runtime wherever their code is shared; those of a class
 * are not.
 */
export function iterable<T>(make: () => AsyncIterator<T>): AsyncIterable<T> {
  return new Iterable(make);
}

class Iterable<T> implements AsyncIterable<T> {
  readonly #make: () => AsyncIterator<T>;

  constructor(make: () => AsyncIterator<T>) {
    this.#make = make;
  }

  [Symbol.asyncIterator](): AsyncIterator<T> {
    return this.#make();
  }
}

/** An iterable of one item, that costs one promise. */
export function once<T>(make: () => Promise<T>): AsyncIterable<T> {
  return iterable(() => new Once(make));
}

class Once<T> implements AsyncIterator<T> {
  readonly #make: () => Promise<T>;
  #made = false;

  constructor(make: () => Promise<T>) {
    this.#make = make;
  }

  next(): Promise<IteratorResult<T>> {
    if (this.#made) return Promise.resolve({ done: true, value: undefined });
    this.#made = true;
    return this.#make().then((value) => ({ done: false, value }));
  }

  return(): Promise<IteratorResult<T>> {
    this.#made = true;
    return Promise.resolve({ done: true, value: undefined });
  }
}

/** An iterable whose source is only known after some waiting. */
export function deferred<T>(source: () => Promise<AsyncIterable<T>>): AsyncIterable<T> {
  return iterable(() => new Deferred(source));
}

class Deferred<T> implements AsyncIterator<T> {
  readonly #source: () => Promise<AsyncIterable<T>>;
  #inner: AsyncIterator<T> | undefined;

  constructor(source: () => Promise<AsyncIterable<T>>) {
    this.#source = source;
  }

  next(): Promise<IteratorResult<T>> {
    if (this.#inner) return this.#inner.next();
    return this.#source().then((source) => {
      this.#inner = source[Symbol.asyncIterator]();
      return this.#inner.next();
    });
  }

  async return(): Promise<IteratorResult<T>> {
    await this.#inner?.return?.();
    return { done: true, value: undefined };
  }
}
