/** Images that `lintel chat` shows a model: addresses, and files of this machine. */
import { readFile } from "node:fs/promises";
import { UsageError } from "./command.js";

/** The formats that models look at, by the first bytes of a file. */
const formats: Readonly<Record<string, (begin: string) => boolean>> = {
  "image/png": (begin) => begin.startsWith("\x89PNG\r\n\x1a\n"),
  "image/jpeg": (begin) => begin.startsWith("\xff\xd8\xff"),
  "image/webp": (begin) => begin.startsWith("RIFF") && begin.startsWith("WEBP", 8),
  "image/gif": (begin) => /^GIF8[79]a/.test(begin),
};

/**
 * The address of an image: as it is given, which the model server fetches, or with the bytes of a file.
 * @throws UsageError if the file can't be read, or is of no such format
 */
export async function addressOf(image: string): Promise<string> {
  if (/^(?:https?:\/\/|data:)/i.test(image)) return image;
  const bytes = await readFile(image).catch(({ code, message }: NodeJS.ErrnoException) => {
    throw new UsageError(`--image: ${image} can't be read (${code ?? message})`);
  });
  const begin = bytes.toString("latin1", 0, 12);
  const type = Object.keys(formats).find((known) => formats[known]?.(begin));
  if (!type) throw new UsageError(`--image: ${image} is no PNG, JPEG, WebP or GIF`);
  return `data:${type};base64,${bytes.toString("base64")}`;
}
