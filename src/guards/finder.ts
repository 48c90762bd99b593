/** Finders of things that have a form, and what several of them need. */

/** A part of a text, from its first character to behind its last. */
export interface Span {
  readonly start: number;
  readonly end: number;
}

/** Finds one kind of thing. */
export interface Finder {
  /**
   * All of them, in their order. None is empty, none overlaps.
   * @param isLate whether it has taken long already: then the rest behind the first counts as found, too
   */
  find(text: string, isLate?: () => boolean): Span[];
  /** The same in what has a name, where that tells. Absent: names tell nothing. */
  behind?(name: string, text: string): Span[];
  /** From where on a text that goes on may have the begin of one; its length: nowhere. */
  open(text: string): number;
}

/** Whether a place in a text divides a character, of which UTF-16 has halves. */
export const divides = (text: string, at: number): boolean =>
  /^[\ud800-\udbff][\udc00-\udfff]$/.test(text.slice(Math.max(0, at - 1), at + 1));

/** Where the characters before a place begin that are all of one class, of so many at most. */
export function runBefore(text: string, end: number, of: RegExp, most: number): number {
  let at = end;
  while (at > 0 && end - at < most && of.test(text[at - 1] as string)) at--;
  return at;
}

/** The same at the end of a text. */
export const runAtEnd = (text: string, of: RegExp, most: number): number =>
  runBefore(text, text.length, of, most);

/**
 * A source of an expression with `x{20}x*` for `x{20,}`, of which V8 keeps each round on a stack: of five million it
 * has none left, and throws. What nobody could look at would be let through where the operator said so.
 */
export const withoutEnd = (source: string): string =>
  source.replace(/(\[[^\]]*\]|\\[wd])\{(\d+),\}/g, "$1{$2}$1*");

/** All that an expression fits, which is global. */
export const spansOf = (text: string, pattern: RegExp): Span[] =>
  Array.from(text.matchAll(pattern), ({ index, 0: found }) => ({
    start: index,
    end: index + found.length,
  }));

/** What stands in JSON for the end of a line, and so on: a word may begin behind it. */
export const jsonEscape = "\\\\(?:[bfnrt]|u[\\da-fA-F]{4})";

/** What stands between the groups of a number, in brackets of an expression with the flag `u`. */
export const betweenGroups =
  "\\p{Zs}\\p{Pd}\\u2212\\t./_:\\u00b7\\u2022\\u2027\\u2219\\u22c5\\u30fb";
