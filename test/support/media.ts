/** Images in memory, for tests that are not about the store. */
import { randomBytes } from "node:crypto";
import type { MediaStore, StoredMedia } from "../../src/core/media.js";

/** @param base the address that URLs begin with, asked for when it is known */
export function memoryStore(base: () => string): MediaStore {
  const kept = new Map<string, StoredMedia>();
  return {
    async put(data, mimeType) {
      const name = `${randomBytes(16).toString("hex")}.png`;
      kept.set(name, { data, mimeType });
      return name;
    },
    get: async (name) => kept.get(name),
    url: (name) => `${base()}/media/${name}`,
    async delete(name) {
      kept.delete(name);
    },
    async close() {},
  };
}
