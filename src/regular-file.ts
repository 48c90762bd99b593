/**
 * Files that are read to their end. To open a named pipe waits for who writes into it, in a thread that
 * nothing ends, and a device may give bytes for ever.
 */
import { readFileSync, type Stats, statSync } from "node:fs";
import { devNull } from "node:os";
import { resolve } from "node:path";

/** Something at a path that is neither a file nor a folder; its words go behind a path. */
export class NotAFile extends Error {
  override readonly name = "NotAFile";
}

/** What this process was started with: `<(…)` of a shell is one, and is a pipe that is written to. */
const ownDescriptor = /^\/(?:dev\/(?:stdin$|fd\/\d+$)|proc\/(?:self|\d+)\/fd\/\d+$)/;

/**
 * Looks whether what is at a path, or where its links lead, can be read to an end. A folder, and what is not
 * there, are for the system to refuse.
 * @throws NotAFile if it is a named pipe, a socket, or another device than `/dev/null`
 */
export function assertRegular(path: string): void {
  const found = lookAt(path);
  if (!found || found.isFile() || found.isDirectory()) return;
  if (ownDescriptor.test(resolve(path)) || isNull(found)) return;
  const what = found.isFIFO() ? "named pipe" : found.isSocket() ? "socket" : "device";
  throw new NotAFile(`is a ${what}, not a file`);
}

/**
 * All that is in a file.
 * @throws NotAFile as `assertRegular`; or as Node does
 */
export function readRegular(path: string): Buffer {
  assertRegular(path);
  return readFileSync(path);
}

/** Also where it was mounted over a file, as is done to hide it. */
const isNull = (found: Stats): boolean =>
  found.isCharacterDevice() && found.rdev === lookAt(devNull)?.rdev;

function lookAt(path: string): Stats | undefined {
  try {
    return statSync(path);
  } catch {
    return undefined;
  }
}
