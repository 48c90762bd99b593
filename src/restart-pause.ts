/** How long a process that keeps ending is left alone before it is started again. */

/** Times, milliseconds. */
export interface RestartTimes {
  /** Pause before the first restart; doubles with each end. */
  readonly firstPause: number;
  readonly longestPause: number;
  /** A process that lived this long is healthy: the pauses begin anew. */
  readonly healthyAfter: number;
}

/** Values of the product. */
export const restartTimes: RestartTimes = {
  firstPause: 250,
  longestPause: 60_000,
  healthyAfter: 30_000,
};

/**
 * The pause in milliseconds: exponential, and half of it is chance.
 * @param ends how often it ended before, since it was healthy
 */
export function restartPause(
  ends: number,
  { firstPause, longestPause }: Pick<RestartTimes, "firstPause" | "longestPause">,
): number {
  const most = Math.min(longestPause, firstPause * 2 ** ends);
  return Math.round((most + Math.random() * most) / 2);
}
