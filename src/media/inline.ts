/** A store that keeps nothing: callers get their images inside the response. */
import type { MediaStore } from "../core/media.js";
import { storedType } from "./name.js";

/** For `media.delivery: data`. */
export function inlineMedia(): MediaStore {
  return {
    put: async ({ buffer, byteOffset, byteLength }) =>
      `data:${storedType};base64,${Buffer.from(buffer, byteOffset, byteLength).toString("base64")}`,
    get: async () => undefined,
    delete: async () => {},
    close: async () => {},
  };
}
