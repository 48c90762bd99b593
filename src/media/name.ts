/** Names of stored images. */
import { randomBytes } from "node:crypto";
import { LintelError } from "../core/errors.js";

const extensions: Readonly<Record<string, string>> = {
  "image/png": "png",
  "image/jpeg": "jpg",
  "image/webp": "webp",
};

const types = new Map(Object.entries(extensions).map(([type, extension]) => [extension, type]));

const pattern = /^[0-9a-f]{32}\.(png|jpg|webp)$/;

/**
 * A name that nobody guesses: 128 random bits, and an extension that says what it is.
 * @throws LintelError `internal` for a media type that is no image
 */
export function newName(mimeType: string): string {
  const extension = extensions[mimeType];
  if (!extension) {
    const cause = new Error(`a store of images was given ${mimeType}`);
    throw new LintelError("internal", "internal error", { cause });
  }
  return `${randomBytes(16).toString("hex")}.${extension}`;
}

/** The media type of a stored image, or `undefined` if this is no name of one. */
export function typeOfName(name: string): string | undefined {
  return types.get(pattern.exec(name)?.[1] ?? "");
}
