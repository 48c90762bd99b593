/** Bodies that come in many small pieces, each of which takes a hundred times its bytes of memory. */
import type { Readable } from "node:stream";

/** So many pieces are looked at together. */
const together = 256;

/** Bytes below which they are made one. */
const small = 64 * 1024;

/**
 * Makes the last pieces of a body one, as soon as there are many small ones. To be called
 * with each piece.
 * @param parts the last `fresh` of which were not looked at yet
 * @returns `fresh` from now on
 */
export function withFewer(parts: Buffer[], fresh: number): number {
  if (fresh < together) return fresh;
  const last = parts.slice(-together);
  const bytes = last.reduce((sum, { length }) => sum + length, 0);
  if (bytes < small) parts.splice(-together, together, Buffer.concat(last, bytes));
  return 0;
}

/**
 * A piece that was read, and all that waits behind it, in one. From Node 26 on a read takes one
 * piece of what waits, not all.
 */
export function withWaiting(stream: Readable, piece: Buffer): Buffer {
  if (stream.readableLength === 0) return piece;
  const parts = [piece];
  while (stream.readableLength > 0) parts.push(stream.read());
  return Buffer.concat(parts);
}
