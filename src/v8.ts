/** How V8 collects what calls leave behind, and how it compiles what they run. */
import v8 from "node:v8";

/**
 * Settings of V8 for a process that serves calls; those of the collector measured with
 * `--trace-gc`.
 *
 * Once some objects of a place in the code have lived long, V8 makes all from there in
 * the old space. Those of calls hold each other, so that after a busy moment nearly all
 * that a call left was kept until the next full collection: half of the time in the core
 * went into that.
 *
 * A full collection is due when the old space has grown by a share that V8 chooses, down
 * to a tenth, and the bytes of images count as its growth though they lie outside: beside
 * a heap of 20 MB there was a collection for every dozen images, which took a third of
 * all time. While there are many such bytes the old space may grow to three times what is
 * in use (four times, the most that V8 would choose, is 8% less for an image). Streams of
 * text leave what they kept in it, and each of many takes twice as much memory so: without
 * images it may grow by a half.
 *
 * A call passes through many small functions, and V8 stops to put one into the other where
 * they are more than 460 or, together, 920 bytes of its bytecode, and counts none of up to
 * 27: with more room a whole answer takes less (bench/NOTES.md).
 */
export function tuneV8(): void {
  v8.setFlagsFromString("--no-allocation-site-pretenuring");
  grow(growths.inside);
  v8.setFlagsFromString("--max-inlined-bytecode-size=920");
  v8.setFlagsFromString("--max-inlined-bytecode-size-small=80");
  v8.setFlagsFromString("--max-inlined-bytecode-size-cumulative=4000");
}

/** How much the old space may grow, percent of what is in use: with many bytes outside of it, and else. */
const growths = { outside: 200, inside: 50 } as const;

/** How often it is looked whether there are, milliseconds. */
const followMs = 250;

/** V8 reads it at the end of each full collection. */
const grow = (percent: number) => v8.setFlagsFromString(`--heap-growing-percent=${percent}`);

/**
 * From now on the old space may grow by more while there are many bytes outside of it. For once the
 * bundle's code is there: V8 takes none that was kept under other settings (`scripts/code-cache.js`).
 */
export function followBytes(): void {
  let growth: number = growths.inside;
  const look = () => {
    const now = growthFor(v8.getHeapStatistics());
    if (now !== growth) grow(now);
    growth = now;
  };
  setInterval(look, followMs).unref();
}

/** How much the old space may grow, percent of what is in use. @param heap as V8 tells of it */
export function growthFor(heap: Pick<v8.HeapInfo, "external_memory" | "used_heap_size">): number {
  return heap.external_memory > heap.used_heap_size / 2 ? growths.outside : growths.inside;
}
