/** Where a JSON value ends that stands in a text. */

/** Looks for the end of an object or a list in pieces of a text, at each letter once. */
export class JsonEnd {
  /** How many objects and lists are open. */
  #depth = 0;
  #inText = false;
  #escaped = false;

  /**
   * Looks at the next piece.
   * @param from where in it the value begins, or goes on
   * @returns the place behind the first object or list that was opened; `undefined` where it has no end yet
   */
  find(piece: string, from = 0): number | undefined {
    for (let at = from; at < piece.length; at++) {
      const letter = piece[at];
      if (this.#escaped) this.#escaped = false;
      else if (this.#inText && letter === "\\") this.#escaped = true;
      else if (letter === '"') this.#inText = !this.#inText;
      else if (this.#inText) continue;
      else if (letter === "{" || letter === "[") this.#depth++;
      else if ((letter === "}" || letter === "]") && --this.#depth <= 0) return at + 1;
    }
    return undefined;
  }
}

/**
 * The place behind an object or a list; `undefined` where it has no end yet.
 * @param from where it begins, with a bracket
 */
export const jsonEnd = (text: string, from: number): number | undefined =>
  new JsonEnd().find(text, from);

/** Whether a text is empty, or begins as an object or a list and ends before that does. */
export function isCutShort(text: string): boolean {
  const from = text.search(/\S/);
  if (from < 0) return true;
  return (text[from] === "{" || text[from] === "[") && jsonEnd(text, from) === undefined;
}
