/** The database that somebody names. */
import { join, resolve } from "node:path";
import { PostgresSql } from "./postgres.js";
import type { Sql } from "./sql.js";
import { SqliteSql } from "./sqlite.js";

/** Name of the database's file in the state folder. */
const fileName = "lintel.db";

/** Whether this is the URL of a PostgreSQL database. */
export const isPostgres = (text: string): boolean => /^postgres(ql)?:\/\//.test(text);

/**
 * The database of a configuration. Nothing is opened before it is asked something.
 * @param database `sqlite`, or the URL of a PostgreSQL database
 * @param directory the state folder, where SQLite's file is
 */
export function openDatabase(database: string, directory: string): Sql {
  return openNamed(whereIs(database, directory));
}

/** Where the database of a configuration is: its URL, or its file in the state folder. */
export const whereIs = (database: string, directory: string): string =>
  isPostgres(database) ? database : join(directory, fileName);

/** The database at a URL, or in a file of SQLite. */
export function openNamed(where: string): Sql {
  return isPostgres(where) ? new PostgresSql(where) : new SqliteSql(resolve(where));
}
