/** How fast a page follows what comes in. */

/**
 * Has only the newest of what comes in shown, and never takes more than about a third of the time for it,
 * however much there is to show.
 */
export function paced<T>(show: (value: T) => void): {
  readonly next: (value: T) => void;
  /** Shows the last one now. */
  readonly end: () => void;
} {
  let waiting: { readonly value: T } | undefined;
  let timer: ReturnType<typeof setTimeout> | undefined;
  let pause = 0;
  const now = () => {
    timer = undefined;
    if (!waiting) return;
    const begun = performance.now();
    show(waiting.value);
    waiting = undefined;
    // What was shown has been drawn by then.
    setTimeout(() => {
      pause = Math.max(shortest, 2 * (performance.now() - begun));
    });
  };
  return {
    next(value) {
      waiting = { value };
      timer ??= setTimeout(now, pause);
    },
    end() {
      clearTimeout(timer);
      now();
    },
  };
}

/** Milliseconds, in which nobody sees a difference. */
const shortest = 30;
