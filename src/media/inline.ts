/** A store that keeps nothing: callers get their images inside the response. */
import type { MediaStore } from "../core/media.js";

/** For `media.delivery: data`. */
export function inlineMedia(): MediaStore {
  return {
    put: async ({ buffer, byteOffset, byteLength }, mimeType) =>
      `data:${mimeType};base64,${Buffer.from(buffer, byteOffset, byteLength).toString("base64")}`,
    get: async () => undefined,
    delete: async () => {},
    close: async () => {},
  };
}
