/**
 * Strings in JSON, one for each chunk of a stream: most are short and have nothing to
 * escape. A look at their letters is cheaper than JSON's own functions.
 */

const quote = 0x22;
const backslash = 0x5c;

/** As `JSON.stringify` does it. */
export function toJsonString(text: string): string {
  for (let i = 0; i < text.length; i++) {
    const code = text.charCodeAt(i);
    // Halves of a pair that stand alone are escaped; pairs are rare enough to be left to it, too.
    if (code < 0x20 || code === quote || code === backslash || isHalf(code)) {
      return JSON.stringify(text);
    }
  }
  return `"${text}"`;
}

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
    const code = json.charCodeAt(i);
    if (code < 0x20 || code === quote || code === backslash) return parsed(json.slice(from, to));
  }
  return json.slice(from + 1, to - 1);
}

const isHalf = (code: number) => code >= 0xd800 && code <= 0xdfff;

function parsed(json: string): string | undefined {
  try {
    const value: unknown = JSON.parse(json);
    return typeof value === "string" ? value : undefined;
  } catch {
    return undefined;
  }
}
