/** Token counts where a model server reports none. */

/**
 * About how many tokens a text has: one for every four bytes of UTF-8, which is
 * near for English with the usual vocabularies and errs upwards elsewhere.
 * @param bytes length of the text in UTF-8
 * @returns 0 for an empty text, otherwise at least 1
 */
export function estimateTokens(bytes: number): number {
  return Math.ceil(bytes / 4);
}
