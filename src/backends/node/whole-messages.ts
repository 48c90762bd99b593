/** Messages of gRPC, each in one piece. */
import { Collected } from "../../core/pieces.js";

/** Bytes before each message: one of flags, four of length. */
const prefixLength = 5;

/**
 * A body whose messages are handed on when they are whole. The library adds up all pieces of a
 * message anew with each that comes: bytes that come one by one would take the square of the time.
 */
export class WholeMessages implements AsyncIterableIterator<Uint8Array> {
  readonly #source: AsyncIterator<Uint8Array>;
  readonly #largest: number;
  readonly #open = new Collected();
  /** Bytes without which nothing more can be told of what is open. */
  #wanted = prefixLength;

  /** @param largest bytes of a message; what is larger is handed on as it comes, to be refused */
  constructor(source: AsyncIterator<Uint8Array>, largest: number) {
    this.#source = source;
    this.#largest = largest;
  }

  [Symbol.asyncIterator](): this {
    return this;
  }

  async next(): Promise<IteratorResult<Uint8Array>> {
    for (;;) {
      const { done, value } = await this.#source.next();
      if (done) {
        // Half a message is the library's to tell.
        if (this.#open.length === 0) return { done, value: undefined };
        return { done: false, value: this.#open.take() };
      }
      this.#open.add(value);
      if (this.#open.length < this.#wanted) continue;
      const whole = this.#takeWhole();
      if (whole.length > 0) return { done: false, value: whole };
    }
  }

  #takeWhole(): Uint8Array {
    const bytes = this.#open.take();
    let end = 0;
    this.#wanted = prefixLength;
    while (end + prefixLength <= bytes.length) {
      const length = bytes.readUInt32BE(end + 1);
      if (length > this.#largest) return bytes;
      this.#wanted = prefixLength + length;
      if (end + this.#wanted > bytes.length) break;
      end += this.#wanted;
      this.#wanted = prefixLength;
    }
    if (end < bytes.length) this.#open.add(bytes.subarray(end));
    return bytes.subarray(0, end);
  }
}
