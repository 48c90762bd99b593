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
  // An error has a stack, which takes as long as a page of JSON, and many a field that may have some has none.
  if (text === "") return undefined;
  try {
    return JSON.parse(text.charCodeAt(0) === byteOrderMark ? text.slice(1) : text);
  } catch {
    return undefined;
  }
}

/** Whether a value is a list of JSON objects. */
export const areObjects = (value: unknown): value is JsonObject[] =>
  Array.isArray(value) && value.every(isObject);

/**
 * How many objects and lists may stand within each other in JSON that goes on to others. Python reads
 * about as many. JavaScript reads more than it can walk through, or write: Node 20 a few thousand.
 */
export const maxNesting = 1000;

/** What is wrong with JSON that {@link isTooDeep}. */
export const tooDeep = `must have at most ${maxNesting} objects and lists within each other`;

/** Whether more objects and lists stand within each other than may go on. */
export const isTooDeep = (value: unknown): boolean => isDeeper(value, maxNesting);

function isDeeper(value: unknown, levels: number): boolean {
  if (typeof value !== "object" || value === null) return false;
  if (levels === 0) return true;
  for (const member of Object.values(value)) if (isDeeper(member, levels - 1)) return true;
  return false;
}

/** A value as JSON; `undefined` where it is nested too deeply. */
export const jsonOf = (value: object): string | undefined =>
  isTooDeep(value) ? undefined : JSON.stringify(value);

/** Whether a text is JSON of a kind, and nested no deeper than may go on. */
export function isJsonOf(text: string, kind: (value: unknown) => boolean): boolean {
  const value = parseJson(text);
  return kind(value) && !isTooDeepIn(text, value);
}

/** Whether the value of a text {@link isTooDeep}; of short texts none is. */
export const isTooDeepIn = (text: string, value: unknown): boolean =>
  text.length > 2 * maxNesting && isTooDeep(value);
