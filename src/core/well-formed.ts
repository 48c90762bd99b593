/** Text that UTF-8 has bytes for. */

/**
 * Text with U+FFFD for each lone surrogate: JSON has them by escapes, UTF-8 does not, and some
 * model servers and clients fail on them. Protobuf's encoder replaces them likewise.
 */
export function wellFormed(text: string): string {
  const known = text as string & { isWellFormed(): boolean; toWellFormed(): string };
  return known.isWellFormed() ? text : known.toWellFormed();
}

/** Makes pieces of a text end with a character, not in the middle of one: UTF-8 has no halves. */
export class WholeCharacters {
  /** Half of a character, whose other half comes with the next piece. */
  #half = "";

  /** The next piece, as far as its characters are whole. */
  push(piece: string): string {
    if (piece === "") return piece;
    const all = this.#half === "" ? piece : this.#half + piece;
    const last = all.charCodeAt(all.length - 1);
    const open = last >= 0xd800 && last <= 0xdbff;
    this.#half = open ? all.slice(-1) : "";
    return open ? all.slice(0, -1) : all;
  }

  /** What is left once no more comes. */
  end(): string {
    const half = this.#half;
    this.#half = "";
    return half;
  }
}
