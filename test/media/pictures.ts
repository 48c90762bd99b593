/** Pictures for tests, and their parts. */
import { crc32 } from "node:zlib";
import { PNG } from "pngjs";

/** A picture of many colours. */
export function picture(width: number, height: number, colorType: 0 | 2 | 6 = 2): Buffer {
  const png = new PNG({ width, height });
  for (let i = 0; i < png.data.length; i++) png.data[i] = (i * 7919 + (i >> 5) * 31) % 256;
  return PNG.sync.write(png, { colorType });
}

/** One chunk, with its length and checksum. */
export function chunk(type: string, data: Uint8Array | string): Buffer {
  const body = Buffer.concat([Buffer.from(type, "latin1"), Buffer.from(data as string)]);
  const bytes = Buffer.alloc(body.length + 8);
  bytes.writeUInt32BE(body.length - 4, 0);
  body.copy(bytes, 4);
  bytes.writeUInt32BE(crc32(body), body.length + 4);
  return bytes;
}

/** Types of a picture's chunks. */
export function chunkTypes(png: Uint8Array): string[] {
  const bytes = Buffer.from(png);
  const types: string[] = [];
  for (let at = 8; at < bytes.length; at += bytes.readUInt32BE(at) + 12) {
    types.push(bytes.toString("latin1", at + 4, at + 8));
  }
  return types;
}

/** Where IHDR ends. */
export const headerEnd = 8 + 25;

/** The picture with more chunks after its header. */
export function withChunks(png: Buffer, ...chunks: Buffer[]): Buffer {
  return Buffer.concat([png.subarray(0, headerEnd), ...chunks, png.subarray(headerEnd)]);
}
