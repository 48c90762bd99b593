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

/**
 * The same iteration, that says when it ended: complete, failed, or left early.
 * @param ended called once
 */
export function ending<T>(source: AsyncIterable<T>, ended: () => void): AsyncIterable<T> {
  return {
    [Symbol.asyncIterator]() {
      const inner = source[Symbol.asyncIterator]();
      let open = true;
      const end = () => {
        if (open) ended();
        open = false;
      };
      return {
        next: () =>
          inner.next().then(
            (result) => {
              if (result.done) end();
              return result;
            },
            (thrown: unknown) => {
              end();
              throw thrown;
            },
          ),
        return: async () => {
          end();
          await inner.return?.();
          return { done: true, value: undefined };
        },
      };
    },
  };
}
