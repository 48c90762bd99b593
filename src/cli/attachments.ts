/** What `lintel chat` has a model look at, read and listen to: addresses, and files of this machine. */
import { isUtf8 } from "node:buffer";
import { readFile } from "node:fs/promises";
import { basename, extname } from "node:path";
import type { MessageInitShape } from "@bufbuild/protobuf";
import { type ContentPartSchema, InputAudioSchema } from "../../gen/lintel/v1/chat_pb.js";
import { beginsPdf } from "../core/files.js";
import { choicesOf } from "../core/rules.js";
import { UsageError } from "./command.js";

/** A part of a message. */
export type Part = MessageInitShape<typeof ContentPartSchema>;

/** The formats that models look at, by the first bytes of a file. */
const images: Readonly<Record<string, (begin: string) => boolean>> = {
  "image/png": (begin) => begin.startsWith("\x89PNG\r\n\x1a\n"),
  "image/jpeg": (begin) => begin.startsWith("\xff\xd8\xff"),
  "image/webp": (begin) => begin.startsWith("RIFF") && begin.startsWith("WEBP", 8),
  "image/gif": (begin) => /^GIF8[79]a/.test(begin),
};

/** Formats of sounds, by the end of a file's name. */
export const sounds: readonly string[] = choicesOf(InputAudioSchema.field.format);

/**
 * An image: by its address as it is given, which the model server fetches, or with the bytes of a file.
 * @throws UsageError if the file can't be read, or is of no format that models look at
 */
export async function imageOf(image: string): Promise<Part> {
  if (isAddress(image)) return { type: "image_url", imageUrl: { url: image } };
  const bytes = await bytesOf("--image", image);
  const begin = bytes.toString("latin1", 0, 12);
  const type = Object.keys(images).find((known) => images[known]?.(begin));
  if (!type) throw new UsageError(`--image: ${image} is no PNG, JPEG, WebP or GIF`);
  return { type: "image_url", imageUrl: { url: dataUrl(type, bytes) } };
}

/**
 * A file likewise, with its name.
 * @throws UsageError if it can't be read, or is neither a PDF nor text
 */
export async function fileOf(file: string): Promise<Part> {
  if (isAddress(file)) return { type: "file", file: { fileData: file } };
  const bytes = await bytesOf("--file", file);
  const pdf = beginsPdf(bytes);
  if (bytes.length === 0) throw new UsageError(`--file: ${file} is empty`);
  if (!pdf && (!isUtf8(bytes) || bytes.includes(0))) {
    throw new UsageError(`--file: ${file} is neither a PDF nor text in UTF-8`);
  }
  const fileData = dataUrl(pdf ? "application/pdf" : "text/plain", bytes);
  return { type: "file", file: { fileData, filename: basename(file) } };
}

/**
 * A sound.
 * @throws UsageError if the file can't be read, or its name has no end of a format that there is
 */
export async function soundOf(sound: string): Promise<Part> {
  const format = extname(sound).slice(1).toLowerCase();
  if (!sounds.includes(format)) {
    throw new UsageError(`--audio: the name of ${sound} must end in one of ${sounds.join(", ")}`);
  }
  const data = (await bytesOf("--audio", sound)).toString("base64");
  return { type: "input_audio", inputAudio: { data, format } };
}

const isAddress = (text: string): boolean => /^(?:https?:\/\/|data:)/i.test(text);

const dataUrl = (type: string, bytes: Buffer): string =>
  `data:${type};base64,${bytes.toString("base64")}`;

const bytesOf = (option: string, path: string): Promise<Buffer> =>
  readFile(path).catch(({ code, message }: NodeJS.ErrnoException) => {
    throw new UsageError(`${option}: ${path} can't be read (${code ?? message})`);
  });
