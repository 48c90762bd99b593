/** A store that keeps nothing: callers get their images inside the response. */
import type { MediaStore } from "../core/media.js";
import { newName } from "./name.js";

/** For `media.delivery: data`. */
export function inlineMedia(): MediaStore {
  return {
    put: async (_data, mimeType) => newName(mimeType),
    get: async () => undefined,
    url: (_name, { data, mimeType }) =>
      `data:${mimeType};base64,${Buffer.from(data.buffer, data.byteOffset, data.byteLength).toString("base64")}`,
    delete: async () => {},
    close: async () => {},
  };
}
