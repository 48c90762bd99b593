/**
 * Whose turn it is on the GPU. ONNX Runtime serves all WebGPU sessions of a process
 * with one device, and does not guard it: two threads that use it at the same time
 * end the process (seen with 1.30). Each model has a thread of its own.
 */
import { threadId } from "node:worker_threads";

/** The turns of this process; its threads get it from the main one. */
export const processTurns = new SharedArrayBuffer(4);

/** What stands in the buffer: 0 for nobody. */
const markOf = (thread: number) => thread + 1;

/** Turns, as one thread takes them. */
export class Turn {
  readonly #holder: Int32Array;
  #last: Promise<unknown> = Promise.resolve();

  constructor(buffer: SharedArrayBuffer) {
    this.#holder = new Int32Array(buffer);
  }

  /** Does something while nobody else does; blocks the thread until then. */
  take<T>(use: () => Promise<T>): Promise<T> {
    const taken = this.#last.then(() => this.#held(use));
    this.#last = taken.catch(() => {});
    return taken;
  }

  async #held<T>(use: () => Promise<T>): Promise<T> {
    for (;;) {
      const holder = Atomics.compareExchange(this.#holder, 0, 0, markOf(threadId));
      if (holder === 0) break;
      Atomics.wait(this.#holder, 0, holder);
    }
    try {
      return await use();
    } finally {
      giveUp(this.#holder.buffer as SharedArrayBuffer, threadId);
    }
  }
}

/** Ends the turn of a thread that may be gone; nothing if it has none. */
export function giveUp(buffer: SharedArrayBuffer, thread: number): void {
  const holder = new Int32Array(buffer);
  const had = Atomics.compareExchange(holder, 0, markOf(thread), 0) === markOf(thread);
  if (had) Atomics.notify(holder, 0, 1);
}
