/** Small pictures of an image that is being made, as servers send them, made into PNG. */
import { PNG } from "pngjs";
import { asPng, bytesOfBase64 } from "./image.js";

/** The little of `jpeg-js` that is used here. */
interface JpegLibrary {
  decode(
    jpeg: Uint8Array,
    options: { useTArray: true; formatAsRGBA: true; maxResolutionInMP: number },
  ): { readonly width: number; readonly height: number; readonly data: Uint8Array };
}

/** Largest preview in megapixels: they are small, and decoding blocks. */
const megapixels = 1;

/**
 * A preview as PNG. JPEG is decoded by `sharp`, or by `jpeg-js`, whichever is
 * installed. A preview that can't be read is none.
 */
export async function previewPng(
  bytes: Uint8Array | undefined,
  convert: (bytes: Uint8Array) => Promise<Uint8Array> = asPng,
): Promise<Uint8Array | undefined> {
  if (!bytes) return undefined;
  return convert(bytes).catch(() => decoded(bytes).catch(() => undefined));
}

/**
 * A preview in base64 as PNG; `undefined` for anything else.
 * @throws LintelError `upstream_failed` where it is larger than any image may be
 */
export async function previewOf(base64: unknown): Promise<Uint8Array | undefined> {
  return typeof base64 === "string" ? previewPng(bytesOfBase64(base64)) : undefined;
}

async function decoded(jpeg: Uint8Array): Promise<Uint8Array> {
  // Not a literal: it is optional.
  const name = "jpeg-js";
  const { default: library } = (await import(name)) as { default: JpegLibrary };
  const options = { useTArray: true, formatAsRGBA: true, maxResolutionInMP: megapixels } as const;
  const { width, height, data } = library.decode(jpeg, options);
  const png = new PNG({ width, height });
  png.data = Buffer.from(data.buffer, data.byteOffset, data.byteLength);
  return PNG.sync.write(png, { colorType: 2 });
}
