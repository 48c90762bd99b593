/** How V8 collects what calls leave behind. */
import v8 from "node:v8";

/**
 * Settings of V8's collector for a process that serves calls; both measured with
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
 * all time. Now the old space may grow to four times what is in use, the most that V8
 * would choose.
 */
export function tuneCollector(): void {
  v8.setFlagsFromString("--no-allocation-site-pretenuring");
  v8.setFlagsFromString("--heap-growing-percent=300");
}
