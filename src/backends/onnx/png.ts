/** PNG of 8-bit RGB pixels, with nothing in it besides the picture. */
import { promisify } from "node:util";
import { crc32, deflate } from "node:zlib";
import { pngSignature } from "../../media/signature.js";

const compress = promisify(deflate);

/**
 * Encodes a picture. Compression runs on Node's thread pool.
 * @param rgb three bytes a pixel, rows from the top
 */
export async function encodePng(
  rgb: Uint8Array | Uint8ClampedArray,
  width: number,
  height: number,
): Promise<Uint8Array<ArrayBuffer>> {
  const header = Buffer.alloc(13);
  header.writeUInt32BE(width, 0);
  header.writeUInt32BE(height, 4);
  header.set([8, 2, 0, 0, 0], 8); // 8 bits, RGB, deflate, filters by row, not interlaced
  const data = await compress(filter(rgb, width, height), { level: 6 });
  const chunks = [
    pngSignature,
    chunk("IHDR", header),
    chunk("IDAT", data),
    chunk("IEND", Buffer.alloc(0)),
  ];
  // Not Buffer.concat: its memory may be shared with other buffers, and this one is handed on whole.
  const png = new Uint8Array(chunks.reduce((sum, part) => sum + part.length, 0));
  let at = 0;
  for (const part of chunks) {
    png.set(part, at);
    at += part.length;
  }
  return png;
}

function chunk(type: string, data: Uint8Array): Buffer {
  const out = Buffer.allocUnsafe(12 + data.length);
  out.writeUInt32BE(data.length, 0);
  out.write(type, 4, "latin1");
  out.set(data, 8);
  out.writeUInt32BE(crc32(out.subarray(4, 8 + data.length)), 8 + data.length);
  return out;
}

/** Numbers of the filters that are tried, by the PNG specification. */
const SUB = 1;
const UP = 2;

/**
 * Puts a filter byte before each row. Of "sub" and "up" a row takes the one
 * with the smaller sum of absolute differences: nearly as good as trying all
 * five, at a third of the time.
 */
function filter(rgb: Uint8Array | Uint8ClampedArray, width: number, height: number): Uint8Array {
  const stride = width * 3;
  const out = new Uint8Array((stride + 1) * height);
  const sub = new Uint8Array(stride);
  const up = new Uint8Array(stride);
  for (let y = 0; y < height; y++) {
    const from = y * stride;
    let sumSub = 0;
    let sumUp = 0;
    for (let x = 0; x < stride; x++) {
      const value = rgb[from + x] as number;
      const left = (value - (x < 3 ? 0 : (rgb[from + x - 3] as number))) & 0xff;
      const above = (value - (y === 0 ? 0 : (rgb[from + x - stride] as number))) & 0xff;
      sub[x] = left;
      up[x] = above;
      sumSub += left < 128 ? left : 256 - left;
      sumUp += above < 128 ? above : 256 - above;
    }
    const to = y * (stride + 1);
    out[to] = sumUp <= sumSub ? UP : SUB;
    out.set(sumUp <= sumSub ? up : sub, to + 1);
  }
  return out;
}
