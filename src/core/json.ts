/** JSON of which nothing is known yet. */

/** A JSON object of unknown content. */
export type JsonObject = Readonly<Record<string, unknown>>;

/** Whether a value is a JSON object. */
export function isObject(value: unknown): value is JsonObject {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}

/**
 * A copy of an object with our own members, in the place of those that it has under the same names.
 * Not `{ ...object, name }`: where `name` is new Node 20 describes each such object anew, in the old
 * space, where it keeps what it was made from until a full collection (bench/NOTES.md). What is
 * called `__proto__` in the object stays a member like any other.
 */
export function withMembers(object: JsonObject, members: JsonObject): JsonObject {
  const { ...all } = object;
  return Object.assign(all, members);
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

/** Whether a value is a list of JSON objects. */
export const areObjects = (value: unknown): value is JsonObject[] =>
  Array.isArray(value) && value.every(isObject);

/** A value as JSON; `undefined` where it is nested too deeply: V8 reads more than it can write. */
export function jsonOf(value: object): string | undefined {
  try {
    return JSON.stringify(value);
  } catch {
    return undefined;
  }
}

/** Letters below which nothing is nested too deeply to be written out again. */
const shallow = 4000;

/** Whether a text is JSON of a kind, and can be written out again. */
export function isJsonOf(text: string, kind: (value: unknown) => boolean): boolean {
  const value = parseJson(text);
  return kind(value) && (text.length < shallow || jsonOf(value as object) !== undefined);
}
