/** Decodes pictures. */
import { inflateSync } from "node:zlib";
import { PNG } from "pngjs";
import { pngSize } from "../core/png-size.js";

/** Samples of a pixel by its colour type. */
const samples: Readonly<Record<number, number>> = { 0: 1, 2: 3, 3: 1, 4: 2, 6: 4 };

/** First column and row, and the steps to the next ones, of the seven passes of an interlaced picture. */
const passes = [
  [0, 0, 8, 8],
  [4, 0, 8, 8],
  [0, 4, 4, 8],
  [2, 0, 4, 4],
  [0, 2, 2, 4],
  [1, 0, 2, 2],
  [0, 1, 1, 2],
] as const;

/**
 * The pixels of a picture, four bytes each. It takes its time: for threads.
 * @param data PNG bytes that were sanitized
 * @throws Error if they can't be decoded
 */
export function decodePng(data: Uint8Array): PNG {
  const bytes = Buffer.from(data.buffer, data.byteOffset, data.byteLength);
  checkPixels(bytes);
  return PNG.sync.read(bytes);
}

/**
 * The library inflates interlaced pictures without an end, a gigabyte out of a few kilobytes,
 * and its other way of reading throws where nobody can catch it when there is too little.
 */
function checkPixels(bytes: Buffer): void {
  const parts: Buffer[] = [];
  for (let at = 8; at < bytes.length; ) {
    const end = at + 8 + bytes.readUInt32BE(at);
    if (bytes.toString("latin1", at + 4, at + 8) === "IDAT")
      parts.push(bytes.subarray(at + 8, end));
    at = end + 4;
  }
  const needed = sizeOf(bytes);
  const { length } = inflateSync(Buffer.concat(parts), { maxOutputLength: needed });
  if (length < needed) throw new Error(`it has ${length} bytes of pixels instead of ${needed}`);
}

/** Bytes of all rows, each with its filter's byte before it. */
function sizeOf(bytes: Buffer): number {
  const { width, height } = pngSize(bytes);
  const [depth = 0, colour = 0, , , interlaced] = bytes.subarray(24, 29);
  const bits = depth * (samples[colour] ?? 0);
  const all = (columns: number, rows: number) =>
    columns > 0 ? rows * (1 + Math.ceil((columns * bits) / 8)) : 0;
  if (!interlaced) return all(width, height);
  return passes.reduce(
    (sum, [x, y, dx, dy]) => sum + all(Math.ceil((width - x) / dx), Math.ceil((height - y) / dy)),
    0,
  );
}
