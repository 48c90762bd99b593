import { PNG } from "pngjs";
import { describe, expect, test } from "vitest";
import { blurPng } from "../../src/media/blur.js";
import { mostPixels, sanitizePng } from "../../src/media/png.js";
import { chunk, chunkTypes, headerEnd, picture, withChunks } from "./pictures.js";

const prompt = "parameters\0a secret prompt, steps: 20";

describe("sanitizePng", () => {
  test.each([0, 2, 6] as const)("drops metadata and keeps every pixel, colour type %d", (type) => {
    const plain = picture(37, 21, type);
    const full = withChunks(
      plain,
      chunk("tEXt", prompt),
      chunk("zTXt", prompt),
      chunk("iTXt", prompt),
      chunk("eXIf", prompt),
      chunk("iCCP", prompt),
      chunk("tIME", "1234567"),
      chunk("pHYs", "123456789"),
      chunk("prVt", prompt),
    );
    const clean = sanitizePng(full);
    expect(chunkTypes(full)).toHaveLength(chunkTypes(plain).length + 8);
    expect(new Set(chunkTypes(clean))).toEqual(new Set(["IHDR", "IDAT", "IEND"]));
    expect(Buffer.from(clean).includes("secret")).toBe(false);
    expect(PNG.sync.read(Buffer.from(clean)).data).toEqual(PNG.sync.read(full).data);
  });

  test("keeps what says how the pixels look, and what follows the end goes", () => {
    const kept = ["sRGB", "gAMA", "cHRM", "sBIT", "tRNS"].map((type) => chunk(type, "123456"));
    const full = withChunks(picture(4, 4), ...kept);
    const clean = sanitizePng(Buffer.concat([full, Buffer.from("secret")]));
    expect(Buffer.from(clean).equals(full)).toBe(true);
    expect(Buffer.from(clean).includes("secret")).toBe(false);
  });

  test("works on a part of a larger buffer", () => {
    const plain = picture(4, 4);
    const large = Buffer.concat([Buffer.alloc(5), plain, Buffer.alloc(5)]);
    const part = new Uint8Array(large.buffer, large.byteOffset + 5, plain.length);
    expect(Buffer.from(sanitizePng(part)).equals(sanitizePng(plain))).toBe(true);
  });

  const good = picture(16, 16);
  /** The picture with another byte in its header, whose checksum is right. */
  const withHeader = (at: number, byte: number) => {
    const header = Buffer.from(good.subarray(16, 29));
    header[at] = byte;
    return Buffer.concat([good.subarray(0, 8), chunk("IHDR", header), good.subarray(headerEnd)]);
  };
  const withLongHeader = Buffer.concat([
    good.subarray(0, 8),
    chunk("IHDR", Buffer.concat([good.subarray(16, 29), Buffer.alloc(1)])),
    good.subarray(headerEnd),
  ]);
  const refuses = (bytes: Uint8Array) =>
    expect(() => sanitizePng(bytes)).toThrow(expect.objectContaining({ code: "upstream_failed" }));

  test("refuses a picture that is cut at any byte", () => {
    for (let end = 0; end < good.length; end++) refuses(good.subarray(0, end));
  });

  test("refuses a picture of which any byte was changed", () => {
    for (let at = 0; at < good.length; at++) {
      const bytes = Buffer.from(good);
      bytes[at] = (bytes[at] as number) ^ 0x20;
      refuses(bytes);
    }
  });

  test.each<[string, Buffer]>([
    ["nothing", Buffer.alloc(0)],
    ["a JPEG", Buffer.from("ffd8ffe000104a464946", "hex")],
    ["text", Buffer.from("<html>502 Bad Gateway</html>")],
    ["no pixels", Buffer.concat([good.subarray(0, headerEnd), chunk("IEND", "")])],
    ["two headers", withChunks(good, good.subarray(8, headerEnd))],
    ["an unknown critical chunk", withChunks(good, chunk("XYZA", "1"))],
    ["pixels in two pieces", withChunks(good, chunk("IDAT", "1"), chunk("tEXt", "a"))],
    ["a header of no size", Buffer.concat([good.subarray(0, 8), chunk("IHDR", Buffer.alloc(13))])],
    ["a header that is too long", withLongHeader],
    ["a chunk whose type is no letters", withChunks(good, chunk("te1t", "1"))],
    ["a colour type that there is not", withHeader(9, 5)],
    ["a bit depth that the colour type can't have", withHeader(8, 4)],
    ["an unknown compression", withHeader(10, 1)],
    ["an unknown filter", withHeader(11, 1)],
    ["an unknown interlacing", withHeader(12, 2)],
  ])("refuses %s", (_what, bytes) => {
    refuses(bytes);
  });

  test("says nothing of the reason to the caller", () => {
    expect(() => sanitizePng(Buffer.from("x"))).toThrow(
      "the model server answered with a broken image",
    );
  });
});

describe("the size of a picture", () => {
  /** A header that promises a size, and next to no pixels. */
  const promising = (width: number, height: number) => {
    const header = Buffer.from("0000000000000000 0802000000".replace(" ", ""), "hex");
    header.writeUInt32BE(width, 0);
    header.writeUInt32BE(height, 4);
    const chunks = [chunk("IHDR", header), chunk("IDAT", "none"), chunk("IEND", "")];
    return Buffer.concat([picture(1, 1).subarray(0, 8), ...chunks]);
  };
  const fails = (png: Buffer, most?: number) =>
    expect(() => sanitizePng(png, most)).toThrow(
      expect.objectContaining({
        code: "upstream_failed",
        message: "the model server answered with an image that is too large",
      }),
    );

  test("is at most 4096x4096 pixels in all, whichever side is the longer", () => {
    for (const [width, height] of [
      [4096, 4096],
      [16_384, 1024],
    ] as const) {
      const png = promising(width, height);
      expect(sanitizePng(png)).toBe(png);
      fails(promising(width, height + 1));
    }
    fails(promising(12_000, 12_000));
  });

  test("is never nothing, or more than 16384 pixels, along one side", () => {
    for (const [width, height] of [
      [16_385, 1],
      [1, 16_385],
      [0, 1],
      [1, 0],
    ] as const) {
      expect(() => sanitizePng(promising(width, height), 1e9)).toThrow("a broken image");
    }
  });

  test("is as the operator bounds it, but never below what models make by themselves", () => {
    const most = (width?: number, height?: number) =>
      mostPixels({ width: { max: width }, height: { max: height } });
    expect(most(8192, 8192)).toBe(8192 * 8192);
    expect(most(8192)).toBe(8192 * 4096);
    expect(most(3000, 3000)).toBe(3000 * 3000);
    expect(most(512, 512)).toBe(2048 * 2048);
    expect(mostPixels({})).toBe(4096 * 4096);
    fails(promising(3000, 3001), most(3000, 3000));
  });
});

describe("blurPng", () => {
  test("keeps the size and takes every shape away", async () => {
    const sharp = new PNG({ width: 200, height: 120 });
    for (let y = 0; y < 120; y++) {
      for (let x = 0; x < 200; x++) {
        const on = (Math.floor(x / 4) + Math.floor(y / 4)) % 2 === 0 ? 255 : 0;
        sharp.data.set([x < 100 ? on : 0, 0, x < 100 ? 0 : on, 255], (y * 200 + x) * 4);
      }
    }
    const blurred = PNG.sync.read(Buffer.from(await blurPng(PNG.sync.write(sharp))));
    expect([blurred.width, blurred.height]).toEqual([200, 120]);
    let steepest = 0;
    for (let i = 0; i + 4 < blurred.data.length; i += 4) {
      if ((i / 4) % 200 === 199) continue;
      const step = Math.abs((blurred.data[i + 4] as number) - (blurred.data[i] as number));
      steepest = Math.max(steepest, step);
    }
    // The chequers stepped by 255; what is left are the colours of the halves.
    expect(steepest).toBeLessThan(12);
    expect(blurred.data[(60 * 200 + 10) * 4]).toBeGreaterThan(100);
    expect(blurred.data[(60 * 200 + 190) * 4]).toBe(0);
  });

  test("leaves the mean colours of squares of a tenth of the longer side, and nothing else", async () => {
    const [width, height, side] = [50, 35, 5];
    const colour = (x: number, y: number) => [x * 5, y * 7, (x * y * 31) % 256, 255] as const;
    /** The same pixels, those of each square maybe in another order. */
    const made = (place: (at: number) => number) => {
      const png = new PNG({ width, height });
      for (let y = 0; y < height; y++) {
        for (let x = 0; x < width; x++) {
          const at = place((y % side) * side + (x % side));
          const from = [
            x - (x % side) + (at % side),
            y - (y % side) + Math.floor(at / side),
          ] as const;
          png.data.set(colour(...from), (y * width + x) * 4);
        }
      }
      return blurPng(PNG.sync.write(png));
    };
    const blurred = Buffer.from(await made((at) => at));
    expect(blurred.equals(await made((at) => (at * 7 + 3) % (side * side)))).toBe(true);
    const { data } = PNG.sync.read(blurred);
    const mean = (column: number, row: number, c: number) => {
      let sum = 0;
      for (let i = 0; i < side * side; i++) {
        const [x, y] = [column * side + (i % side), row * side + Math.floor(i / side)];
        sum += colour(x, y)[c] ?? 0;
      }
      return sum / (side * side);
    };
    for (const [column, row] of [
      [0, 0],
      [9, 0],
      [4, 3],
      [9, 6],
    ] as const) {
      const at = ((row * side + 2) * width + column * side + 2) * 4;
      const middle = [0, 1, 2].map((c) => Math.round(mean(column, row, c)));
      expect([...data.subarray(at, at + 4)]).toEqual([...middle, 255]);
    }
    // Two pixels to the right and one down from a middle: two and one fifth of the way.
    const at = ((2 + 1) * width + 2 + 2) * 4;
    for (const c of [0, 1, 2]) {
      const across = (row: number) => mean(0, row, c) * 0.6 + mean(1, row, c) * 0.4;
      expect(data[at + c]).toBe(Math.round(across(0) * 0.8 + across(1) * 0.2));
    }
  });

  test("has a square of its own for what is left at the right and at the bottom", async () => {
    const size = 31;
    const edge = new PNG({ width: size, height: size });
    for (let at = 0; at < size * size; at++) {
      const [x, y] = [at % size, Math.floor(at / size)];
      edge.data.set([x === size - 1 ? 255 : 0, y === size - 1 ? 255 : 0, 0, 255], at * 4);
    }
    const { data } = PNG.sync.read(Buffer.from(await blurPng(PNG.sync.write(edge))));
    const pixel = (x: number, y: number) => [...data.subarray((y * size + x) * 4).subarray(0, 4)];
    expect(pixel(0, 0)).toEqual([0, 0, 0, 255]);
    expect(pixel(0, 12)).toEqual([0, 0, 0, 255]);
    // One of three columns, and one of three rows: the squares before are four wide.
    expect(pixel(30, 12)).toEqual([85, 0, 0, 255]);
    expect(pixel(12, 30)).toEqual([0, 85, 0, 255]);
    expect(pixel(30, 30)).toEqual([85, 85, 0, 255]);
  });

  test("works on one pixel, on grey and with transparency", async () => {
    for (const bytes of [picture(1, 1), picture(9, 300, 0), picture(64, 8, 6)]) {
      const before = PNG.sync.read(bytes);
      const after = PNG.sync.read(Buffer.from(await blurPng(bytes)));
      expect([after.width, after.height]).toEqual([before.width, before.height]);
    }
  });

  test("refuses pixels that can't be decoded", async () => {
    const good = picture(4, 4);
    const bytes = Buffer.concat([
      good.subarray(0, headerEnd),
      chunk("IDAT", "no zlib at all"),
      chunk("IEND", ""),
    ]);
    await expect(blurPng(bytes)).rejects.toThrow();
  });
});
