/** Async iteration without a generator's cost per step. */

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
