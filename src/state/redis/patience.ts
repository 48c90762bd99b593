/** How long a store's answers are waited for. */
import { performance } from "node:perf_hooks";

/** Longest that a start, or a reload, waits for Redis, which may also come later, or for the database. Milliseconds. */
export const startMs = 2000;

/** The store did not answer in time. */
export class TooLate extends Error {
  override readonly name = "TooLate";
}

/** What a slow link carries in a millisecond. */
const bytesPerMs = (4 * 1024 * 1024) / 1000;

/** How much longer an answer may take for what has to be carried with it, or before it. */
export const carriedMs = (bytes: number) => Math.ceil(bytes / bytesPerMs);

/** The patience with one connection. */
export class Patience {
  readonly #timeoutMs: number;
  /** Bytes of what is asked now: whatever is asked next comes after them. */
  #carried = 0;
  #answeredAt = 0;
  /** What is waited for longer than for the time-out alone, since it may be large. */
  readonly #longer = new Set<() => void>();

  constructor(timeoutMs: number) {
    this.#timeoutMs = timeoutMs;
  }

  /** When something was answered last, by the clock of `performance`. */
  get answeredAt(): number {
    return this.#answeredAt;
  }

  /**
   * The answer. What came while this process was busy is in time.
   * @param bytes that the question has, or its answer may have, where that is many
   * @throws TooLate
   */
  inTime<T>(ask: () => Promise<T>, bytes = 0): Promise<T> {
    this.#carried += bytes;
    const answer = ask().finally(() => {
      this.#carried -= bytes;
    });
    const ms = this.#timeoutMs + carriedMs(this.#carried);
    const askedAt = performance.now();
    return new Promise<T>((resolve, reject) => {
      const late = (after: number) => () => {
        // Sockets are read between timers and immediates.
        setImmediate(() => reject(new TooLate(`no answer within ${after} ms`)));
      };
      let timer = setTimeout(late(ms), ms);
      const hurry = () => {
        clearTimeout(timer);
        const left = askedAt + this.#timeoutMs - performance.now();
        timer = setTimeout(late(this.#timeoutMs), Math.max(left, 0));
      };
      if (ms > this.#timeoutMs) this.#longer.add(hurry);
      const over = () => {
        clearTimeout(timer);
        this.#longer.delete(hurry);
      };
      answer.then(
        (value) => {
          over();
          this.#answeredAt = performance.now();
          resolve(value);
        },
        (error: unknown) => {
          over();
          reject(error);
        },
      );
    });
  }

  /** The store is away: nothing is on its way, and whatever was asked has the time-out and no more. */
  end(): void {
    for (const hurry of this.#longer) hurry();
    this.#longer.clear();
  }
}
