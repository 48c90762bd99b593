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
 * all time. Now the old space may grow to three times what is in use. Four times, the most
 * that V8 would choose, is 8% less for an image, and some KB more for each open stream.
 *
 * A call passes through many small functions, and V8 stops to put one into the other where
 * they are more than 460 or, together, 920 bytes of its bytecode, and counts none of up to
 * 27: with more room a whole answer takes less (bench/NOTES.md).
 */
export function tuneV8(): void {
  v8.setFlagsFromString("--no-allocation-site-pretenuring");
  v8.setFlagsFromString("--heap-growing-percent=200");
  v8.setFlagsFromString("--max-inlined-bytecode-size=920");
  v8.setFlagsFromString("--max-inlined-bytecode-size-small=80");
  v8.setFlagsFromString("--max-inlined-bytecode-size-cumulative=4000");
}
