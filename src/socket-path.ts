/** Paths of Unix sockets: how they stand in addresses, and how long they may be. */

/** Longest path that every system takes, bytes. They cut off what is beyond, and say nothing. */
const longestPath = 103;

/** Whether a path is one that a socket can have. */
export const isSocketPath = (path: string): boolean =>
  path !== "" && !path.includes("\0") && Buffer.byteLength(path) <= longestPath;

/** What to say of a path that is none. */
export const socketMessage = `must lead to a socket whose whole path has at most ${longestPath} bytes`;

/**
 * The path in an address that begins with `unix:`. With three slashes it is a URL, in which
 * `unix:///a%20b` is `/a b`; else it is what stands there: `unix:/a b`, `unix:a%20b`.
 * @returns empty if there is none
 */
export function socketPathIn(address: string): string {
  const path = address.slice("unix:".length);
  if (!path.startsWith("//")) return path;
  try {
    // Between the second slash and the third would be another machine's name.
    return path.startsWith("///") ? decodeURIComponent(path.slice(2)) : "";
  } catch {
    return "";
  }
}
