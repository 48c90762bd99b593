/** Looks into JSON that somebody else wrote. */

/** A JSON object of unknown content. */
export type JsonObject = Readonly<Record<string, unknown>>;

/** Whether a value is a JSON object. */
export function isObject(value: unknown): value is JsonObject {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}

/** The JSON value of a text, `undefined` if it is none. */
export function parseJson(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}

/** A count that fits into uint32, else 0. */
export function uint32(value: unknown): number {
  return typeof value === "number" && Number.isInteger(value) && value >= 0 && value < 2 ** 32
    ? value
    : 0;
}

/** A text, else the empty one. */
export function string(value: unknown): string {
  return typeof value === "string" ? value : "";
}
