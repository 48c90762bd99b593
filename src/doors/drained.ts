/** Waiting for clients that read slowly. */
import type { Writable } from "node:stream";

/** Resolves when what was written has left, or can't any more. */
export function drained(stream: Writable): Promise<void> {
  return new Promise((resolve) => {
    const go = () => {
      stream.off("drain", go);
      stream.off("close", go);
      resolve();
    };
    stream.on("drain", go);
    stream.on("close", go);
  });
}
