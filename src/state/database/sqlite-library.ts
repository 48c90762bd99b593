/** SQLite: Node's own where it has it, else the optional package with the same interface. */
import { accessSync, constants, existsSync } from "node:fs";
import { dirname } from "node:path";
import type * as library from "@photostructure/sqlite";
import { folderProblem } from "../directory.js";

/** What is used of the library. */
export type SqliteDatabase = Pick<
  InstanceType<typeof library.DatabaseSync>,
  "exec" | "prepare" | "close"
>;

/** How a file is opened. */
export interface OpenOptions {
  /** Then it must be there. Default: it may be written to, and is made. */
  readonly readOnly?: boolean;
}

/** What to say where there is no SQLite. */
export const noSqlite =
  "this Node has no SQLite of its own: npm install @photostructure/sqlite, or use Node 22.13 or newer";

/** Node's own is there without a flag from 22.13 on. The types of Node 20 don't know it. */
const builtin = () =>
  (process as { getBuiltinModule?: (name: string) => unknown }).getBuiltinModule?.("node:sqlite") as
    | { DatabaseSync: new (path: string, options: OpenOptions) => SqliteDatabase }
    | undefined;

/** Whether there is a SQLite; loads nothing. */
export function hasSqlite(): boolean {
  try {
    return builtinQuietly() !== undefined || Boolean(import.meta.resolve("@photostructure/sqlite"));
  } catch {
    return false;
  }
}

/**
 * Opens a database file.
 * @throws Error with `noSqlite` if there is no SQLite, or that names the file if it can't be opened
 */
export async function openSqlite(path: string, options: OpenOptions = {}): Promise<SqliteDatabase> {
  const own = builtinQuietly();
  if (own) return opened(() => new own.DatabaseSync(path, options), path);
  const { DatabaseSync } = await import("@photostructure/sqlite").catch((cause: unknown) => {
    throw new Error(noSqlite, { cause });
  });
  return opened(() => new DatabaseSync(path, options), path);
}

/** SQLite says neither which file it is nor why it can't be opened. */
function opened(open: () => SqliteDatabase, path: string): SqliteDatabase {
  try {
    return open();
  } catch (cause) {
    const code = fileProblem(path);
    const reason = code ? ` (${code})` : `: ${(cause as Error).message}`;
    throw new Error(`${path} can't be opened${reason}`, { cause });
  }
}

/** Code of the reason why a file can't be read and written, or not be made. */
function fileProblem(path: string): string | undefined {
  if (!existsSync(path)) return folderProblem(dirname(path));
  try {
    accessSync(path, constants.R_OK | constants.W_OK);
    return undefined;
  } catch (error) {
    return (error as NodeJS.ErrnoException).code;
  }
}

/** Loads Node's own without its warning that the module is experimental: we know. */
function builtinQuietly(): ReturnType<typeof builtin> {
  const warn = process.emitWarning;
  process.emitWarning = (() => {}) as typeof warn;
  try {
    return builtin();
  } finally {
    process.emitWarning = warn;
  }
}
