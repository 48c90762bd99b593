/** Where a JSON value ends that stands in a text. */

/**
 * The place behind an object or a list; `undefined` where it has no end yet.
 * @param from where it begins, with a bracket
 */
export function jsonEnd(text: string, from: number): number | undefined {
  let depth = 0;
  let inText = false;
  for (let at = from; at < text.length; at++) {
    const letter = text[at];
    if (inText) {
      if (letter === "\\") at++;
      else if (letter === '"') inText = false;
    } else if (letter === '"') inText = true;
    else if (letter === "{" || letter === "[") depth++;
    else if ((letter === "}" || letter === "]") && --depth === 0) return at + 1;
  }
  return undefined;
}
