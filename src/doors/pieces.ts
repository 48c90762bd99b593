/** Bodies that come in pieces. */
import type { Readable } from "node:stream";

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
