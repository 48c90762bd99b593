/** The folders for what a gateway keeps: the database, and usage on its way there; images. */
import { accessSync, constants, existsSync, mkdirSync, statSync } from "node:fs";
import { access } from "node:fs/promises";
import { homedir } from "node:os";
import { dirname, isAbsolute, join } from "node:path";
import type { StateSettings } from "./open.js";

/**
 * The user's state folder for Lintel, after the XDG base directory specification, by which a
 * relative path does not count.
 */
export function defaultStateDirectory(env: NodeJS.ProcessEnv = process.env): string {
  const { XDG_STATE_HOME: state = "" } = env;
  return join(isAbsolute(state) ? state : join(home(), ".local", "state"), "lintel");
}

/** Without `HOME`, and with a user id that the system does not know, what containers take. */
function home(): string {
  try {
    return homedir();
  } catch {
    return "/";
  }
}

/** Sets `HOME` where the system can't tell it: libraries ask for the home, and fail without. */
export function ensureHome(): void {
  if (home() === "/") process.env.HOME ??= "/";
}

/** Whether anything is kept in a state folder: SQLite's database, or usage on its way to another. */
export const keepsInFolder = ({ database, tokens, usage, admin }: StateSettings): boolean =>
  usage !== undefined || ((tokens !== undefined || admin === true) && database === "sqlite");

/** The folder for models that are fetched by name, in a state folder. */
export const modelsDirectory = (state: string = defaultStateDirectory()): string =>
  join(state, "models");

/** A folder that a setting names, or its default. */
export interface Folder {
  readonly path: string;
  /** Code of the reason why the default can't be written to; absent: it can. */
  readonly problem?: string | undefined;
}

/**
 * Makes a folder, and sees that it can be written to.
 * @param setting its name, for the error
 * @param configured the folder that was asked for; absent: `preferred`
 * @throws Error with a `code` if one that was asked for can't be written to
 */
export async function openFolder(
  setting: string,
  configured: string | undefined,
  preferred: string,
): Promise<Folder> {
  const path = configured ?? preferred;
  try {
    makeFolder(path);
    await access(path, constants.R_OK | constants.W_OK | constants.X_OK);
    return { path };
  } catch (cause) {
    const { code = "" } = cause as NodeJS.ErrnoException;
    if (configured === undefined) return { path, problem: code };
    const message = `${setting}: ${path} can't be written to (${code})`;
    throw Object.assign(new Error(message, { cause }), { code });
  }
}

/**
 * Code of the reason why a folder can't be written to, or not be made; absent: there is none that
 * can be seen without making it.
 */
export function folderProblem(path: string): string | undefined {
  try {
    if (!existsSync(path)) return dirname(path) === path ? "ENOENT" : folderProblem(dirname(path));
    if (!isFolder(path)) return "ENOTDIR";
    accessSync(path, constants.W_OK | constants.X_OK);
    return undefined;
  } catch (error) {
    return (error as NodeJS.ErrnoException).code;
  }
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
