/** SQLite: Node's own where it has it, else the optional package with the same interface. */
import type * as library from "@photostructure/sqlite";

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
 * @throws Error with `noSqlite` if there is no SQLite
 */
export async function openSqlite(path: string, options: OpenOptions = {}): Promise<SqliteDatabase> {
  const own = builtinQuietly();
  if (own) return new own.DatabaseSync(path, options);
  const { DatabaseSync } = await import("@photostructure/sqlite").catch((cause: unknown) => {
    throw new Error(noSqlite, { cause });
  });
  return new DatabaseSync(path, options);
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
