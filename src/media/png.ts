/** Checks PNG files and takes their metadata out, without touching a pixel. */
import { crc32 } from "node:zlib";
import { LintelError } from "../core/errors.js";
import type { Bounds } from "../core/settings.js";
import { pngSignature } from "./signature.js";

/**
 * Chunks that say how the pixels look; everything else that may be left out
 * goes, because model servers write prompts, settings and times there.
 */
const kept = new Set(["IHDR", "PLTE", "IDAT", "IEND", "tRNS", "gAMA", "cHRM", "sRGB", "sBIT"]);

/** Longest side of a picture, pixels; far above the contract's. */
const longestSide = 16_384;

/** Longest sides of what callers can ask for, and of what models make by themselves; pixels. */
const sides = { contract: 2048, usual: 4096 };

/**
 * Most pixels of a picture, as the operator bounds sizes. Bounds below the contract's are
 * for what callers ask for: models with sizes of their own make those all the same.
 */
export function mostPixels({ width, height }: Bounds): number {
  const side = (most = sides.usual) => Math.max(most, sides.contract);
  return side(width?.max) * side(height?.max);
}

/** Bytes of a chunk besides its data: length, type, checksum. */
const frame = 12;

/**
 * The same picture without text, times, EXIF, colour profiles and private
 * chunks, and without what follows the end.
 * @param most pixels: whoever decodes it needs memory and time for each of them
 * @throws LintelError `upstream_failed` if it is not a whole, well-formed PNG, or has more
 */
export function sanitizePng(data: Uint8Array, most = mostPixels({})): Uint8Array {
  const bytes = Buffer.from(data.buffer, data.byteOffset, data.byteLength);
  const begin = bytes.subarray(0, pngSignature.length);
  if (!begin.equals(pngSignature)) throw broken("no PNG signature");
  const parts: Uint8Array[] = [pngSignature];
  let before = "";
  let pixels = 0;
  let at = pngSignature.length;
  while (before !== "IEND") {
    if (at + frame > bytes.length) throw broken("it ends early");
    const length = bytes.readUInt32BE(at);
    const end = at + frame + length;
    if (end > bytes.length) throw broken("a chunk is cut off");
    const type = bytes.toString("latin1", at + 4, at + 8);
    if (!/^[A-Za-z]{4}$/.test(type)) throw broken("a chunk has no valid type");
    if (crc32(bytes.subarray(at + 4, end - 4)) !== bytes.readUInt32BE(end - 4)) {
      throw broken(`the checksum of ${type} is wrong`);
    }
    checkOrder(type, before, pixels);
    if (type === "IHDR") checkHeader(bytes.subarray(at + 8, end - 4), most);
    if (type === "IDAT") pixels += length;
    const critical = /^[A-Z]/.test(type);
    if (critical && !kept.has(type)) throw broken(`${type} is not known`);
    if (kept.has(type)) parts.push(bytes.subarray(at, end));
    before = type;
    at = end;
  }
  if (pixels === 0) throw broken("it has no pixels");
  // Most pictures have nothing to be taken out of; a copy of one in fresh memory takes a millisecond.
  const whole = parts.reduce((sum, part) => sum + part.length, 0) === bytes.length;
  return whole ? data : Buffer.concat(parts);
}

function checkOrder(type: string, before: string, pixels: number): void {
  if ((before === "") !== (type === "IHDR")) throw broken("IHDR is not the first chunk");
  if (type === "IDAT" && pixels > 0 && before !== "IDAT") throw broken("IDAT is not in one piece");
}

/** Bit depths that each colour type may have. */
const depths: Readonly<Record<number, readonly number[]>> = {
  0: [1, 2, 4, 8, 16],
  2: [8, 16],
  3: [1, 2, 4, 8],
  4: [8, 16],
  6: [8, 16],
};

function checkHeader(header: Buffer, most: number): void {
  if (header.length !== 13) throw broken("IHDR has a wrong length");
  const [width, height] = [header.readUInt32BE(0), header.readUInt32BE(4)];
  const [depth = 0, colour = 0, compression, filter, interlace = 0] = header.subarray(8);
  const size = width > 0 && height > 0 && Math.max(width, height) <= longestSide;
  const known = depths[colour]?.includes(depth) && compression === 0 && filter === 0;
  if (!size || !known || interlace > 1) throw broken("IHDR is not valid");
  if (width * height > most) {
    throw new LintelError(
      "upstream_failed",
      "the model server answered with an image that is too large",
      { cause: new Error(`${width}x${height} are more than ${most} pixels`) },
    );
  }
}

/** The error for a picture that is none; `why` is for the log. */
export function broken(why: string): LintelError {
  return new LintelError("upstream_failed", "the model server answered with a broken image", {
    cause: new Error(`broken PNG: ${why}`),
  });
}
