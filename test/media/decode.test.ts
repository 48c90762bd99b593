import { deflateSync } from "node:zlib";
import { describe, expect, test } from "vitest";
import { decodePng } from "../../src/media/decode.js";
import { sanitizePng } from "../../src/media/png.js";
import { chunk, picture } from "./pictures.js";

/** A black picture with so many bytes of pixels, in two chunks. */
function black(
  [width, height]: readonly [number, number],
  { depth = 8, colour = 2, interlaced = false },
  size: number,
): Uint8Array {
  const header = Buffer.alloc(13);
  header.writeUInt32BE(width, 0);
  header.writeUInt32BE(height, 4);
  header.set([depth, colour, 0, 0, Number(interlaced)], 8);
  const pixels = deflateSync(Buffer.alloc(size));
  return sanitizePng(
    Buffer.concat([
      picture(1, 1).subarray(0, 8),
      chunk("IHDR", header),
      ...(colour === 3 ? [chunk("PLTE", Buffer.alloc(3))] : []),
      chunk("IDAT", pixels.subarray(0, 3)),
      chunk("IDAT", pixels.subarray(3)),
      chunk("IEND", ""),
    ]),
  );
}

describe("pixels are decoded where there are as many as the size says", () => {
  test.each([
    [[5, 3], {}, 48],
    [[5, 3], { colour: 6, depth: 16 }, 123],
    [[5, 3], { colour: 3, depth: 1 }, 6],
    [[5, 3], { colour: 0, depth: 2, interlaced: true }, 15],
    [[5, 3], { interlaced: true }, 52],
    [[1, 1], { interlaced: true }, 4],
    [[9, 9], { interlaced: true }, 262],
  ] as const)("%j %j: %d", ([width, height], form, size) => {
    const decoded = decodePng(black([width, height], form, size));
    expect([decoded.width, decoded.height]).toEqual([width, height]);
    expect(decoded.data).toHaveLength(width * height * 4);
    expect(() => decodePng(black([width, height], form, size - 1))).toThrow("bytes of pixels");
    expect(() => decodePng(black([width, height], form, size + 1))).toThrow();
  });

  test("however much they would inflate to", () => {
    const bomb = black([64, 64], { interlaced: true }, 100_000_000);
    expect(() => decodePng(bomb)).toThrow(/larger than \d{5} bytes/);
  });

  test("as they were", () => {
    const { data } = decodePng(sanitizePng(picture(33, 20, 6)));
    expect([...data.subarray(0, 4)]).toEqual([0, 1, 2, 3].map((i) => (i * 7919) % 256));
  });
});
