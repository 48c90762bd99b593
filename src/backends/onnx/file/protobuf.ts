/** Reads protobuf's wire format off a file without taking the file into memory. */
import { readSync } from "node:fs";

/** Where something lies: bytes from the beginning of the file. */
export interface Span {
  readonly start: number;
  readonly end: number;
}

/** A field of a message: a number, or where its bytes lie. */
export interface Field extends Span {
  readonly number: number;
  /** Where the field itself begins, with its tag. */
  readonly tag: number;
  /** Of a number; 0 for others. */
  readonly value: number;
  readonly isBytes: boolean;
}

/** The file ends before something that it says to have. */
export class CutShort extends Error {
  /** How many bytes there would have to be at least. */
  readonly wanted: number;

  constructor(wanted: number) {
    super("the file is cut short");
    this.wanted = wanted;
  }
}

/** The bytes are no protobuf. */
export class NotProtobuf extends Error {}

const windowSize = 1 << 16;

/** An open file, read through a window. */
export class ProtobufFile {
  readonly #fd: number;
  readonly #size: number;
  readonly #window = Buffer.allocUnsafe(windowSize);
  #from = 0;
  #to = 0;

  constructor(fd: number, size: number) {
    this.#fd = fd;
    this.#size = size;
  }

  /** The whole file. */
  get span(): Span {
    return { start: 0, end: this.#size };
  }

  /**
   * The fields of a message, in the order of the file.
   * @throws CutShort or NotProtobuf
   */
  *fields({ start, end }: Span): Generator<Field> {
    let at = start;
    while (at < end) {
      const tag = at;
      const [key, afterKey] = this.#varint(at);
      const number = Math.floor(key / 8);
      if (number === 0) throw new NotProtobuf();
      let value = 0;
      let from = afterKey;
      let isBytes = false;
      switch (key % 8) {
        case 0:
          [value, at] = this.#varint(afterKey);
          break;
        case 1:
          at = afterKey + 8;
          break;
        case 2: {
          const [length, afterLength] = this.#varint(afterKey);
          // It would lead back to a field that was read, for ever.
          if (length < 0) throw new NotProtobuf();
          isBytes = true;
          from = afterLength;
          at = afterLength + length;
          break;
        }
        case 5:
          at = afterKey + 4;
          break;
        default:
          throw new NotProtobuf();
      }
      if (at > end) {
        if (end === this.#size) throw new CutShort(at);
        throw new NotProtobuf();
      }
      yield { number, tag, value, isBytes, start: from, end: at };
    }
  }

  /** The bytes of a span, copied. */
  bytes({ start, end }: Span): Buffer {
    const out = Buffer.allocUnsafeSlow(end - start);
    let done = 0;
    while (done < out.length) {
      // One read takes at most 2 GB.
      const length = Math.min(out.length - done, 1 << 30);
      const read = readSync(this.#fd, out, done, length, start + done);
      if (read === 0) throw new CutShort(end);
      done += read;
    }
    return out;
  }

  /** The text of a span. */
  text({ start, end }: Span): string {
    if (end - start > windowSize) return this.bytes({ start, end }).toString("utf8");
    if (start < end) {
      // A read for each of the ten thousand names of a file would take a second.
      if (start < this.#from || end > this.#to) this.#read(start);
      if (end > this.#to) throw new CutShort(end);
    }
    return this.#window.toString("utf8", start - this.#from, end - this.#from);
  }

  /** The numbers of a field that may be packed. */
  *numbers(field: Field): Generator<number> {
    if (!field.isBytes) {
      yield field.value;
      return;
    }
    let at = field.start;
    while (at < field.end) {
      const [value, after] = this.#varint(at);
      yield value;
      at = after;
    }
  }

  #byte(at: number): number {
    if (at < this.#from || at >= this.#to) {
      this.#read(at);
      if (this.#to === at) throw new CutShort(at + 1);
    }
    return this.#window[at - this.#from] as number;
  }

  #read(at: number): void {
    this.#from = at;
    this.#to = at + readSync(this.#fd, this.#window, 0, windowSize, at);
  }

  /** @returns the value and the position behind it; values above 2^53 and below -2^53 lose their last bits */
  #varint(from: number): [value: number, after: number] {
    let value = 0;
    /** What is missing to the power of two above: what counts of a negative number, which has all ten bytes. */
    let missing = 1;
    for (let i = 0; i < 10; i++) {
      const byte = this.#byte(from + i);
      value += (byte & 0x7f) * 2 ** (7 * i);
      if (i < 9) missing += (0x7f - (byte & 0x7f)) * 2 ** (7 * i);
      if (byte < 0x80) return [i === 9 && byte === 1 ? -missing : value, from + i + 1];
    }
    throw new NotProtobuf();
  }
}

/** A number in protobuf's variable length. */
function varint(value: number): Buffer {
  const bytes: number[] = [];
  let rest = value;
  while (rest >= 0x80) {
    bytes.push((rest % 0x80) | 0x80);
    rest = Math.floor(rest / 0x80);
  }
  return Buffer.from([...bytes, rest]);
}

/** A field of bytes, without them: tag and length. */
export const bytesHeader = (field: number, length: number): Buffer =>
  Buffer.concat([varint(field * 8 + 2), varint(length)]);

/** A field that holds a number. */
export const numberField = (field: number, value: number): Buffer =>
  Buffer.concat([varint(field * 8), varint(value)]);

/** A field that holds a number in single precision. */
export function floatField(field: number, value: number): Buffer {
  const bytes = Buffer.alloc(4);
  bytes.writeFloatLE(value);
  return Buffer.concat([varint(field * 8 + 5), bytes]);
}

/** A field that holds bytes, a text, or the fields of a message. */
export function bytesField(field: number, ...content: readonly (Uint8Array | string)[]): Buffer {
  const bytes = content.map((part) => (typeof part === "string" ? Buffer.from(part) : part));
  const length = bytes.reduce((sum, part) => sum + part.length, 0);
  return Buffer.concat([bytesHeader(field, length), ...bytes]);
}
