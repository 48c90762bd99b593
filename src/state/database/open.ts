/** The database that a configuration names. */
import { join } from "node:path";
import { PostgresSql } from "./postgres.js";
import type { Sql } from "./sql.js";
import { SqliteSql } from "./sqlite.js";

/** Name of the database's file in the state folder. */
const fileName = "lintel.db";

/**
 * The database. Nothing is opened before it is asked something.
 * @param database `sqlite`, or the URL of a PostgreSQL database
 * @param directory the state folder, where SQLite's file is
 */
export function openDatabase(database: string, directory: string): Sql {
  return database === "sqlite"
    ? new SqliteSql(join(directory, fileName))
    : new PostgresSql(database);
}
