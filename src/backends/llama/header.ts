/**
 * Looks whether the header of a GGUF file holds together. Where one does not, the engine ends
 * the process, or keeps it busy for minutes, instead of saying so.
 */
import type { FileHandle } from "node:fs/promises";

/** Versions that llama.cpp reads. */
const versions: readonly number[] = [2, 3];

/** Bytes of one value by GGUF's number of its type. */
const sizes: Readonly<Record<number, number>> = {
  0: 1,
  1: 1,
  2: 2,
  3: 2,
  4: 4,
  5: 4,
  6: 4,
  7: 1,
  10: 8,
  11: 8,
  12: 8,
};
const textType = 8;
const listType = 9;

const mostDimensions = 4;

/** Bytes of a key's name. node-llama-cpp takes time with the cube of its parts, and real ones have some fifty. */
const longestKey = 1024;

/** That of a vocabulary of a quarter of a million has some 20 MB. */
const largestHeader = 64 * 1024 * 1024;

/** Bytes that are read at first; most headers are shorter. */
const firstBytes = 1024 * 1024;

/** More of the file is to be read. */
const more = Symbol("more");

/**
 * Reads the header of a file.
 * @throws Error that says what is wrong, without the file's name
 */
export async function checkHeader(file: FileHandle): Promise<void> {
  const { size } = await file.stat();
  for (let room = firstBytes; ; room *= 4) {
    const bytes = Buffer.allocUnsafe(Math.min(room, size));
    const { bytesRead } = await file.read(bytes, 0, bytes.length, 0);
    try {
      return new Header(bytes.subarray(0, bytesRead), size).check();
    } catch (thrown) {
      if (thrown !== more) throw thrown;
      if (bytesRead < bytes.length || room >= largestHeader) throw damaged("its header has no end");
    }
  }
}

const damaged = (why: string) => new Error(`the file is damaged or incomplete: ${why}`);

/** The beginning of a file, read in order. */
class Header {
  readonly #bytes: Buffer;
  readonly #size: number;
  /** Behind the four letters. */
  #at = 4;

  /** @param size of the whole file */
  constructor(bytes: Buffer, size: number) {
    this.#bytes = bytes;
    this.#size = size;
  }

  /** @throws Error, or `more` */
  check(): void {
    const version = this.#int32();
    if (!versions.includes(version)) throw damaged(`its version is ${version}, not 2 or 3`);
    const tensors = this.#int64();
    const keys = this.#int64();
    for (let key = 0; key < keys; key++) {
      const length = this.#text();
      if (length > longestKey) throw damaged(`the name of a key has ${length} bytes`);
      this.#value(this.#int32());
    }
    for (let tensor = 0; tensor < tensors; tensor++) this.#tensor();
  }

  #value(type: number): void {
    const isList = type === listType;
    const of = isList ? this.#int32() : type;
    this.#values(of, isList ? this.#int64() : 1);
  }

  #values(type: number, count: number): void {
    const size = sizes[type];
    if (size !== undefined) this.#skip(size * count);
    else if (type !== textType) throw damaged(`a key has a value of the unknown type ${type}`);
    else for (let text = 0; text < count; text++) this.#text();
  }

  #tensor(): void {
    this.#text();
    const dimensions = this.#int32();
    if (dimensions > mostDimensions) throw damaged(`a tensor has ${dimensions} dimensions`);
    for (let i = 0; i < dimensions; i++) {
      if (this.#int64() === 0) throw damaged("a tensor is empty");
    }
    // Its type, and where it lies.
    this.#skip(4 + 8);
  }

  /** @returns its bytes */
  #text(): number {
    const length = this.#int64();
    this.#skip(length);
    return length;
  }

  #int32(): number {
    const at = this.#at;
    this.#skip(4);
    return this.#bytes.readUInt32LE(at);
  }

  /** Above 2^53 about. */
  #int64(): number {
    const low = this.#int32();
    return low + this.#int32() * 2 ** 32;
  }

  #skip(bytes: number): void {
    this.#at += bytes;
    if (this.#at > this.#size) throw damaged("it ends within its header");
    if (this.#at > this.#bytes.length) throw more;
  }
}
