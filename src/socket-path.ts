/** Paths of sockets: how they stand in addresses, and which ones there can be. */
import { createHash } from "node:crypto";

/** Longest path that every system takes, bytes. They cut off what is beyond, and say nothing. */
const longestPath = 103;

/** Windows, where Node has named pipes in place of Unix sockets. They lie in no folder. */
export const pipes = process.platform === "win32";
const pipePattern = /^\\\\[.?]\\pipe\\[^\\]{1,200}$/;

/** Whether a path is one that a socket can have. */
export const isSocketPath = (path: string, named = pipes): boolean =>
  named
    ? pipePattern.test(path)
    : path !== "" && !path.includes("\0") && Buffer.byteLength(path) <= longestPath;

/** What to say of a path that is none. */
export const socketMessage = pipes
  ? String.raw`must be a named pipe, such as unix:\\.\pipe\lintel: Windows has no other sockets for Node`
  : `must lead to a socket whose whole path has at most ${longestPath} bytes`;

/**
 * Where the socket of a file is listened on: the file itself; on Windows a pipe that is named after
 * it, whose owner alone may write to it. A pipe stays as it is.
 */
export function socketOf(file: string, named = pipes): string {
  if (!named || isSocketPath(file, named)) return file;
  return String.raw`\\.\pipe\lintel-${createHash("sha256").update(file).digest("hex").slice(0, 32)}`;
}

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
