/** Pictures that scripted image servers make, and what becomes of them. */
import { PNG } from "pngjs";
import type { TextToImageRequest } from "../../gen/lintel/v1/image_pb.js";
import { imageDefaults } from "../../src/core/defaults.js";

/** A picture that differs from seed to seed and prompt to prompt, as PNG. */
export function picture(width: number, height: number, seed: number, prompt = ""): Buffer {
  const image = new PNG({ width, height });
  const start = [...prompt].reduce((sum, letter) => sum * 31 + letter.charCodeAt(0), seed + 1);
  const pixel = Buffer.alloc(4, 255);
  for (let y = 0; y < height; y++) {
    for (let x = 0; x < width; x++) {
      // Squares of 8 pixels: much to tell apart, little to compress.
      const cell = Math.imul(start + (x >> 3) + (y >> 3) * 4096, 2654435761);
      pixel.writeUIntBE(cell >>> 8, 0, 3);
      pixel.copy(image.data, (y * width + x) * 4);
    }
  }
  return PNG.sync.write(image);
}

/** Size and pixels of a PNG. */
export function pixels(png: Uint8Array): { width: number; height: number; data: Buffer } {
  const { width, height, data } = PNG.sync.read(Buffer.from(png));
  return { width, height, data };
}

/** A request with every default filled in. */
export function imageRequest(more: Partial<TextToImageRequest> = {}): TextToImageRequest {
  return {
    $typeName: "lintel.v1.TextToImageRequest",
    modelId: "m",
    prompt: "a red circle",
    loras: "",
    negativePrompt: "",
    includeData: true,
    includePreviews: false,
    user: "",
    ...imageDefaults,
    ...more,
  };
}
