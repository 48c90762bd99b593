/** The memory that streams take while they are open. */
import { residentBytes } from "../cores.js";
import type { Streamed } from "./streams.js";

/** Holds so many streams open for so many seconds. */
export type Load = (open: number, seconds: number) => Promise<Streamed>;

/** Streams that come before the many: what a process takes as soon as it has any. */
const few = 64;

/**
 * Most memory with so many streams open, and what each of those beyond a few takes of it. A
 * difference to none would count how the heap grows in use, and one to as many nothing at all.
 */
export async function memoryOf(pid: number, open: number, seconds: number, load: Load) {
  const largestWith = async (open: number): Promise<number> => {
    let largest = residentBytes(pid);
    const watch = setInterval(() => {
      largest = Math.max(largest, residentBytes(pid));
    }, 200);
    await load(open, seconds);
    clearInterval(watch);
    return largest;
  };
  const start = await largestWith(few);
  if (open <= few) return { residentMB: start / 1024 / 1024 };
  const largest = await largestWith(open);
  return {
    streamKB: (largest - start) / (open - few) / 1024,
    residentMB: largest / 1024 / 1024,
  };
}
