/** Strings as V8 keeps them. */

/**
 * The same letters, in memory of their own. V8 keeps a slice together with all that it was cut
 * from, and what was put together as its parts, until somebody reads it: for what is kept as long
 * as a stream runs, or written with each of its chunks.
 * @param text without halves of pairs, as decoded text is
 */
export const inOnePiece = (text: string): string => Buffer.from(text).toString();

/**
 * Makes V8 put a text together whose parts it keeps, each of which takes 32 bytes besides its
 * letters: any look at a letter does.
 */
export function putTogether(text: string): void {
  text.charCodeAt(0);
}
