/** The database that a command works on. */
import { existsSync } from "node:fs";
import { join } from "node:path";
import { loadConfig } from "../config/load.js";
import type { Config } from "../config/schema.js";
import { reasonOf } from "../core/log.js";
import { isPostgres, openDatabase, openNamed } from "../state/database/open.js";
import { DatabaseAway, type Sql } from "../state/database/sql.js";
import { defaultStateDirectory } from "../state/directory.js";
import { journalFolder } from "../state/journal/segment.js";
import { configOptions, type Given, type Option } from "./command.js";
import { say } from "./output.js";

/** The options that choose a database. */
export const databaseOptions = {
  config: configOptions.config,
  database: {
    value: "WHERE",
    help: "database instead of the configuration's: a file of SQLite, or postgres://user@host/name",
  },
} as const satisfies Record<string, Option>;

/** A database that is open. */
export interface OpenDatabase {
  readonly sql: Sql;
  /** Absent where `--database` says which. */
  readonly config?: Config | undefined;
  /** Folder of usage that is on its way there; absent where that is not known. */
  readonly journal?: string | undefined;
}

/**
 * Opens the database that is asked for and closes it in the end.
 * @param make whether a file that `--database` names may be new
 * @returns the exit code: that of the work, or 1 if the database can't be used
 * @throws ConfigError if the configuration is wrong
 */
export async function withDatabase(
  given: Given,
  { make = false },
  work: (database: OpenDatabase) => Promise<number>,
): Promise<number> {
  const wanted = given.text("database");
  if (wanted !== undefined && !make && !isPostgres(wanted) && !existsSync(wanted)) {
    say(`lintel: there is no database ${wanted}`);
    return 1;
  }
  const database = await choose(given);
  try {
    return await work(database);
  } catch (error) {
    if (!(error instanceof DatabaseAway)) throw error;
    say(`lintel: ${reasonOf(error)}`);
    return 1;
  } finally {
    await database.sql.close();
  }
}

async function choose(given: Given): Promise<OpenDatabase> {
  const wanted = given.text("database");
  if (wanted !== undefined) return { sql: openNamed(wanted) };
  const { config } = await loadConfig({ file: given.text("config") });
  const directory = config.state.directory ?? defaultStateDirectory();
  return {
    sql: openDatabase(config.state.database, directory),
    config,
    journal: join(directory, journalFolder),
  };
}
