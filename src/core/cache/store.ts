/** Where answers are kept for who asks the same. */

/** Keeps answers for a while. Neither call throws or rejects: without the store calls run as they do without a cache. */
export interface AnswerCache {
  /**
   * What is kept under a name; `undefined` if that is nothing. An answer that is at hand comes at
   * once and not as a promise.
   */
  get(name: string): Uint8Array | undefined | Promise<Uint8Array | undefined>;
  /** Keeps an answer, for so many milliseconds at the most. */
  put(name: string, answer: Uint8Array, ttlMs: number): void;
  close(): Promise<void>;
}
