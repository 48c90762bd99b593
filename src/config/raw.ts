/** What stands in a file, before it is known to be right: whatever has the wrong type is passed over. */
import { isObject, type JsonObject } from "../core/json.js";

/** A mapping. */
export type Fields = JsonObject;

/** A mapping, empty where there is none. */
export function fields(value: unknown): Fields {
  return isObject(value) ? value : {};
}

/** A list of mappings. */
export const list = (value: unknown): readonly Fields[] =>
  Array.isArray(value) ? value.map(fields) : [];

/** A list of texts. */
export const texts = (value: unknown): readonly string[] =>
  Array.isArray(value) ? value.map((item) => (typeof item === "string" ? item : "")) : [];
