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

/**
 * Most bytes of one write. Over HTTP/2 all that waits to be sent counts as memory of the
 * connection, which takes no new streams once it has too much.
 */
export const mostWritten = 64 * 1024;

/** The same bytes in pieces for one write each. */
export function* piecesOf(bytes: Uint8Array): Generator<Uint8Array> {
  for (let at = 0; at < bytes.length; at += mostWritten) {
    yield bytes.subarray(at, at + mostWritten);
  }
}
