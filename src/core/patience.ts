/** How long clients wait before they ask again. */

/**
 * Longest that clients on OpenAI's path wait by themselves, milliseconds: what is 60 seconds, to some of
 * them, or more, they replace by a second or two.
 */
export const longestPauseMs = 59_999;
