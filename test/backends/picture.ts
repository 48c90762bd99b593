/** Pictures that scripted image servers make, and what becomes of them. */
import { PNG } from "pngjs";
import type { TextToImageRequest } from "../../gen/lintel/v1/image_pb.js";
import { imageDefaults } from "../../src/core/defaults.js";

/** A picture that differs from seed to seed and prompt to prompt, as PNG. */
export function picture(width: number, height: number, seed: number, prompt = ""): Buffer {
  const image = new PNG({ width, height });
  let state = [...prompt].reduce((sum, letter) => sum * 31 + letter.charCodeAt(0), seed + 1) >>> 0;
  for (let i = 0; i < image.data.length; i++) {
    state = (Math.imul(state, 1664525) + 1013904223) >>> 0;
    image.data[i] = i % 4 === 3 ? 255 : state >>> 24;
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
    ...imageDefaults,
    ...more,
  };
}
