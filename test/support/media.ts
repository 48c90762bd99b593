/** Images in memory, for tests that are not about the store. */
import { randomBytes } from "node:crypto";
import { Readable } from "node:stream";
import type { MediaStore } from "../../src/core/media.js";

/** @param base the address that URLs begin with, asked for when it is known */
export function memoryStore(base: () => string): MediaStore {
  const kept = new Map<string, Uint8Array>();
  return {
    async put(png, baseUrl = base()) {
      const name = `${randomBytes(16).toString("hex")}.png`;
      kept.set(name, png);
      return `${baseUrl}/media/${name}`;
    },
    async get(name) {
      const image = kept.get(name);
      return (
        image && {
          mimeType: "image/png",
          size: image.byteLength,
          expiresAt: Date.now() + 86_400_000,
          read: ({ start, end } = { start: 0, end: image.byteLength - 1 }) =>
            Readable.from([image.subarray(start, end + 1)]),
          close: async () => {},
        }
      );
    },
    async delete(name) {
      kept.delete(name);
    },
    async close() {},
  };
}
