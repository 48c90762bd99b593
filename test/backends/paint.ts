/** Pictures as a model server would make them: of what was asked for, and nothing else. */
import { createHash } from "node:crypto";
import { PNG } from "pngjs";

/** A picture that is the same for the same words and seed, and differs for others. */
export function paint(width: number, height: number, seed: number, ...words: string[]): Buffer {
  const png = new PNG({ width, height });
  const ink = createHash("sha256")
    .update(JSON.stringify([seed, words]))
    .digest();
  for (let i = 0; i < png.data.length; i++) {
    png.data[i] = i % 4 === 3 ? 255 : ((ink[(i >> 2) % 32] ?? 0) + (i >> 6)) % 256;
  }
  return PNG.sync.write(png, { colorType: 2 });
}

/** The colours of a picture, for comparison. */
export function pixelsOf(png: Uint8Array): { width: number; height: number; data: Buffer } {
  const { width, height, data } = PNG.sync.read(Buffer.from(png));
  return { width, height, data };
}
