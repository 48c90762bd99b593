/** Bodies that come in many small pieces, each of which takes a hundred times its bytes of memory. */

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
