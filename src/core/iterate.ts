/** Async iteration without a generator's cost per step. */

/** An iterable of one item, that costs one promise. */
export function once<T>(make: () => Promise<T>): AsyncIterable<T> {
  return {
    [Symbol.asyncIterator]() {
      let made = false;
      return {
        next() {
          if (made) return Promise.resolve({ done: true, value: undefined });
          made = true;
          return make().then((value) => ({ done: false, value }));
        },
        return() {
          made = true;
          return Promise.resolve({ done: true, value: undefined });
        },
      };
    },
  };
}

/** An iterable whose source is only known after some waiting. */
export function deferred<T>(source: () => Promise<AsyncIterable<T>>): AsyncIterable<T> {
  return {
    [Symbol.asyncIterator]() {
      let inner: AsyncIterator<T> | undefined;
      return {
        next: () =>
          inner
            ? inner.next()
            : source().then((iterable) => {
                inner = iterable[Symbol.asyncIterator]();
                return inner.next();
              }),
        return: async () => {
          await inner?.return?.();
          return { done: true, value: undefined };
        },
      };
    },
  };
}
