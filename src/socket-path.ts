/** How long the path of a Unix socket may be. */

/** Longest path that every system takes, bytes. They cut off what is beyond, and say nothing. */
const longestPath = 103;

/** Whether a path is one that a socket can have. */
export const isSocketPath = (path: string): boolean => Buffer.byteLength(path) <= longestPath;

/** What to say of a path that is none. */
export const socketMessage = `must lead to a socket whose whole path has at most ${longestPath} bytes`;
