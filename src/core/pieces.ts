/** Bytes that come in many small pieces, each of which takes a hundred times its bytes of memory. */

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
export function withFewer(parts: Uint8Array[], fresh: number): number {
  if (fresh < together) return fresh;
  const last = parts.slice(-together);
  const bytes = last.reduce((sum, { length }) => sum + length, 0);
  if (bytes < small) parts.splice(-together, together, Buffer.concat(last, bytes));
  return 0;
}

/** Bytes that are kept until they are whole. */
export class Collected {
  #parts: Uint8Array[] = [];
  #fresh = 0;
  #length = 0;

  /** Bytes so far. */
  get length(): number {
    return this.#length;
  }

  add(part: Uint8Array): void {
    this.#length += part.length;
    this.#parts.push(part);
    this.#fresh = withFewer(this.#parts, this.#fresh + 1);
  }

  /** All that was added, in one: a copy, unless it came so; from then on there is nothing. */
  take(): Buffer {
    const [only] = this.#parts;
    const whole =
      this.#parts.length === 1 && Buffer.isBuffer(only)
        ? only
        : Buffer.concat(this.#parts, this.#length);
    this.drop();
    return whole;
  }

  /** Forgets all that was added. */
  drop(): void {
    this.#parts = [];
    this.#fresh = 0;
    this.#length = 0;
  }
}
