/** JSON of which nothing is known yet. */

/** A JSON object of unknown content. */
export type JsonObject = Readonly<Record<string, unknown>>;

/** Whether a value is a JSON object. */
export function isObject(value: unknown): value is JsonObject {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}

const byteOrderMark = 0xfeff;

/**
 * The JSON value of a text, `undefined` if it is none. Some servers write a byte order mark
 * before it, which JSON lets readers pass over.
 */
export function parseJson(text: string): unknown {
  try {
    return JSON.parse(text.charCodeAt(0) === byteOrderMark ? text.slice(1) : text);
  } catch {
    return undefined;
  }
}
