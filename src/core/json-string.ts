/**
 * Strings in JSON, one for each chunk of a stream: most are short and have nothing to
 * escape. A look at their letters is cheaper than JSON's own functions.
 */

const quote = 0x22;
const backslash = 0x5c;

/** Whether a text stands in JSON as it is, and each of its letters is a byte. */
export function isBare(text: string): boolean {
  for (let i = 0; i < text.length; i++) {
    const code = text.charCodeAt(i);
    if (code > 0x7f || isEscaped(code)) return false;
  }
  return true;
}

/** As {@link toJsonLine} does it. */
export function toJsonString(text: string): string {
  for (let i = 0; i < text.length; i++) {
    const code = text.charCodeAt(i);
    if (isEscaped(code) || (code > 0x7f && isRare(code))) return toJsonLine(text);
  }
  return `"${text}"`;
}

/**
 * As `JSON.stringify` does it, and one line by every reading: it leaves three letters as they
 * are at which Python's `splitlines` ends a line, and with it many readers of event streams.
 */
export function toJsonLine(value: object | string): string {
  return withoutLineEnds(JSON.stringify(value));
}

/** A JSON text as it was written, in one line: line breaks in it stand between its values. */
export function jsonInOneLine(json: string): string {
  return withoutLineEnds(json.replaceAll(/[\r\n]/g, " "));
}

/** Next to none has one, and a look is cheaper than replacing nothing. */
const withoutLineEnds = (json: string): string =>
  lineEnd.test(json) ? json.replaceAll(lineEnds, escaped) : json;

/**
 * The string that stands in a JSON text.
 * @param from where its value begins
 * @param to where it ends
 * @returns `undefined` if what stands there is no string
 */
export function fromJsonString(json: string, from: number, to: number): string | undefined {
  if (to < from + 2 || json.charCodeAt(from) !== quote || json.charCodeAt(to - 1) !== quote) {
    return parsed(json.slice(from, to));
  }
  for (let i = from + 1; i < to - 1; i++) {
    if (isEscaped(json.charCodeAt(i))) return parsed(json.slice(from, to));
  }
  return json.slice(from + 1, to - 1);
}

const lineEnd = /[\u0085\u2028\u2029]/;
const lineEnds = new RegExp(lineEnd, "g");
const escaped = (end: string) => `\\u${end.charCodeAt(0).toString(16).padStart(4, "0")}`;

const isEscaped = (code: number) => code < 0x20 || code === quote || code === backslash;

/** Halves of a pair that stand alone are escaped; pairs are rare enough to be looked at, too. */
const isRare = (code: number) =>
  code === 0x85 || code === 0x2028 || code === 0x2029 || (code >= 0xd800 && code <= 0xdfff);

function parsed(json: string): string | undefined {
  try {
    const value: unknown = JSON.parse(json);
    return typeof value === "string" ? value : undefined;
  } catch {
    return undefined;
  }
}
