/** Base64 that comes in pieces. */

/**
 * Decodes base64 of either alphabet as it comes; like Node's own decoder it passes
 * over what does not belong there. A large image in one text would cost more, as
 * texts of megabytes are in fresh memory each time.
 */
export class Base64Decoder {
  #bytes: Buffer;
  #length = 0;
  /** Letters that are no whole group of four yet. */
  #rest = "";

  /** @param room bytes that are expected */
  constructor(room: number) {
    this.#bytes = Buffer.allocUnsafeSlow(room);
  }

  /** Bytes so far. */
  get length(): number {
    return this.#length;
  }

  /** Takes letters in ASCII. */
  push(letters: Buffer): void {
    let from = 0;
    if (this.#rest !== "") {
      from = Math.min(4 - this.#rest.length, letters.length);
      this.#text(this.#rest + letters.toString("latin1", 0, from));
    }
    if (from === letters.length) return;
    if (this.#rest !== "") this.#text(this.#rest + letters.toString("latin1", from));
    else this.#text(letters.toString("latin1", from));
  }

  /** All that came. */
  end(): Buffer {
    if (this.#rest !== "") this.#write(this.#rest);
    this.#rest = "";
    return this.#bytes.subarray(0, this.#length);
  }

  #text(letters: string): void {
    const whole = letters.length & ~3;
    const from = this.#length;
    this.#rest = letters.slice(whole);
    if (
      this.#write(whole === letters.length ? letters : letters.slice(0, whole)) ===
      whole * 0.75
    ) {
      return;
    }
    // There were other characters among them, so the groups begin elsewhere.
    this.#length = from;
    const clean = letters.replace(/[^\w+/-]/g, "");
    const groups = clean.length & ~3;
    this.#rest = clean.slice(groups);
    this.#write(clean.slice(0, groups));
  }

  #write(letters: string): number {
    const needed = this.#length + Math.ceil(letters.length * 0.75);
    if (needed > this.#bytes.length) {
      const larger = Buffer.allocUnsafeSlow(Math.max(needed, 2 * this.#bytes.length));
      this.#bytes.copy(larger, 0, 0, this.#length);
      this.#bytes = larger;
    }
    const written = this.#bytes.write(letters, this.#length, "base64");
    this.#length += written;
    return written;
  }
}
