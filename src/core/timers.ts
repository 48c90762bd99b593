/** What Node's timers can do. */

/** Longest time that they count, milliseconds: about 24 days. A longer one would run out at once. */
export const longestTimerMs = 2 ** 31 - 1;
