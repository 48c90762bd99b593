/** What stands in a file, before it is known to be right: whatever has the wrong type is passed over. */

/** A mapping. */
export type Fields = Readonly<Record<string, unknown>>;

/** A mapping, empty where there is none. */
export function fields(value: unknown): Fields {
  return typeof value === "object" && value !== null && !Array.isArray(value)
    ? (value as Fields)
    : {};
}

/** A list of mappings. */
export const list = (value: unknown): readonly Fields[] =>
  Array.isArray(value) ? value.map(fields) : [];

/** A list of texts. */
export const texts = (value: unknown): readonly string[] =>
  Array.isArray(value) ? value.map((item) => (typeof item === "string" ? item : "")) : [];
