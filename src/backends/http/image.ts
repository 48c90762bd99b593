/** Images as servers send them, made into the contract's: PNG. */
import { importInstalled } from "../../installed.js";
import { pngSignature } from "../../media/signature.js";
import { nonsense } from "./failure.js";

/** Most bytes of one image as a server sends it. */
export const imageLimit = 64 * 1024 * 1024;

/** Most pixels of an image that is converted: what a picture says of itself may be a lie. */
const pixelLimit = 64 * 1024 * 1024;

/** The formats that servers answer with, by their first bytes. */
const formats: readonly (readonly [string, (bytes: Buffer) => boolean])[] = [
  ["PNG", (bytes) => bytes.subarray(0, 8).equals(pngSignature)],
  ["JPEG", (bytes) => bytes[0] === 0xff && bytes[1] === 0xd8 && bytes[2] === 0xff],
  ["WebP", (bytes) => latin1(bytes, 0, 4) === "RIFF" && latin1(bytes, 8, 12) === "WEBP"],
  ["AVIF", (bytes) => latin1(bytes, 4, 8) === "ftyp" && /^avi[fs]$/.test(latin1(bytes, 8, 12))],
];

/** Bytes of a PNG up to the end of its header, in which its size is. */
const pngHeader = 33;

const latin1 = (bytes: Buffer, from: number, to: number) => bytes.toString("latin1", from, to);

/** The little of `sharp` that is used here. */
export type Converter = (
  bytes: Buffer,
  options: { limitInputPixels: number },
) => { png(): { toBuffer(): Promise<Buffer> } };

/** `sharp`, if it is installed. */
async function sharp(): Promise<Converter | undefined> {
  try {
    return (await importInstalled("sharp")).default as Converter;
  } catch {
    return undefined;
  }
}

/**
 * The image as PNG. PNG stays as it is; other formats are converted where
 * `sharp` is installed.
 * @param load how to get the converter
 * @throws LintelError `upstream_failed` if it is no image, or can't be converted
 */
export async function asPng(
  data: Uint8Array,
  load: () => Promise<Converter | undefined> = sharp,
): Promise<Uint8Array> {
  const bytes = Buffer.from(data.buffer, data.byteOffset, data.byteLength);
  const format = formats.find(([, matches]) => matches(bytes))?.[0];
  if (format === "PNG") {
    if (data.length < pngHeader) throw nonsense("answered with a broken image");
    return data;
  }
  if (!format) throw nonsense("answered with something that is not an image");
  const convert = await load();
  if (!convert) {
    throw nonsense(
      `answered with an image in ${format}, not PNG`,
      new Error("to have other formats converted to PNG: npm install sharp"),
    );
  }
  try {
    return await convert(bytes, { limitInputPixels: pixelLimit }).png().toBuffer();
  } catch (cause) {
    throw nonsense("answered with a broken image", cause);
  }
}

/**
 * An image in base64, as JSON carries it.
 * @param text base64, or a `data:` URL of it
 * @throws LintelError `upstream_failed` if it is no image, or too large
 */
export const imageOfBase64 = async (text: string): Promise<Uint8Array> =>
  asPng(bytesOfBase64(text));

/** Whether an address is an image itself; its media type may have parameters. */
export const isInlineImage = (address: string): boolean =>
  /^data:image\/[\w.+-]+(?:;[^;,]*)*;base64,/i.test(address);

/**
 * What is in base64, or in a `data:` URL of it.
 * @throws LintelError `upstream_failed` if that is more than an image may have
 */
export function bytesOfBase64(text: string): Buffer {
  const comma = /^data:/i.test(text) ? text.indexOf(",") + 1 : 0;
  if (text.length - comma > Math.ceil(imageLimit / 3) * 4) throw tooLarge();
  return Buffer.from(comma > 0 ? text.slice(comma) : text, "base64");
}

/** The error for an image above `imageLimit`. */
export const tooLarge = () => nonsense("answered with an image that is too large");
