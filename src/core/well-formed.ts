/** Text that UTF-8 has bytes for. */

/**
 * Text with U+FFFD for each lone surrogate: JSON has them by escapes, UTF-8 does not, and some
 * model servers and clients fail on them. Protobuf's encoder replaces them likewise.
 */
export function wellFormed(text: string): string {
  const known = text as string & { isWellFormed(): boolean; toWellFormed(): string };
  return known.isWellFormed() ? text : known.toWellFormed();
}

/** Whether a JSON text may have half of a pair: it is an escape there, as whole ones may be, too. */
const mayHaveHalves = /\\u[dD][89a-fA-F]/;

/**
 * Does the same to every string, and key, of what a JSON text was parsed to, wherever it stands in it.
 * @param text what was parsed
 */
export function makeWellFormed(value: object, text: string): void {
  if (!mayHaveHalves.test(text)) return;
  const open = [value as Record<string, unknown>];
  for (let next = open.pop(); next; next = open.pop()) {
    for (const [key, one] of Object.entries(next)) {
      const name = wellFormed(key);
      if (name !== key) delete next[key];
      if (typeof one === "string") next[name] = wellFormed(one);
      else if (name !== key) next[name] = one;
      if (typeof one === "object" && one !== null) open.push(one as Record<string, unknown>);
    }
  }
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
