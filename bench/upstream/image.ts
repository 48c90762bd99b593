/** The picture that the model server answers with. */
import { randomBytes } from "node:crypto";
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { PNG } from "pngjs";

/** Writes a PNG of noise, 2 MB in base64, and gives its file's path. */
export function writeImage(folder: string): string {
  const png = new PNG({ width: 512, height: 1000 });
  // Noise does not compress; three of four channels make about 1.5 MB.
  const noise = randomBytes(512 * 1000 * 4);
  for (let i = 3; i < noise.length; i += 4) noise[i] = 255;
  noise.copy(png.data);
  const file = join(folder, "image.b64");
  writeFileSync(file, PNG.sync.write(png, { colorType: 2 }).toString("base64"));
  return file;
}
