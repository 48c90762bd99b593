/** The folder for what a gateway keeps: the database, and usage on its way there. */
import { existsSync, mkdirSync, statSync } from "node:fs";
import { homedir } from "node:os";
import { dirname, join } from "node:path";

/** The user's state folder for Lintel, after the XDG base directory specification. */
export function defaultStateDirectory(env: NodeJS.ProcessEnv = process.env): string {
  return join(env.XDG_STATE_HOME || join(homedir(), ".local", "state"), "lintel");
}

/**
 * Makes a folder that only this user may look into, and those above it that are missing.
 * @throws Error with a `code` if that can't be
 */
export function makeFolder(path: string): void {
  if (isFolder(path)) return;
  const parent = dirname(path);
  // Node's own `recursive` asks for ever where a folder that is there says "not found" of what
  // is made in it, as /proc does.
  if (!existsSync(parent)) makeFolder(parent);
  try {
    mkdirSync(path, { mode: 0o700 });
  } catch (error) {
    // Another process may have been faster.
    if (!isFolder(path)) throw error;
  }
}

const isFolder = (path: string): boolean =>
  statSync(path, { throwIfNoEntry: false })?.isDirectory() ?? false;
