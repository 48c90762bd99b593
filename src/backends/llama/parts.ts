/** Keeps prompts that can't fit from being made into tokens to their end. */

/** Letters for each token that fits, above which a text is most likely too long: words have four or five. */
const unlikely = 8;

/** Where the next word begins, with the blank before it, or the next line: no known vocabulary joins these. */
const border = /(?<=\S)(?= \S)|(?<=\n)(?=\S)/gu;

/**
 * Texts, and those in parts that are so long that the first few parts are likely to tell that
 * they don't fit: a megabyte takes a second, in which nobody else is served.
 * @param pieces each to be tokenized alone, as parts are
 * @param room tokens that fit
 */
export function* inParts(pieces: readonly string[], room: number): Generator<string> {
  for (const piece of pieces) {
    let from = 0;
    while (piece.length > unlikely * room) {
      border.lastIndex = from + 2 * room;
      const at = border.exec(piece)?.index;
      if (at === undefined) break;
      yield piece.slice(from, at);
      from = at;
    }
    yield piece.slice(from);
  }
}
