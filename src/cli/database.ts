/** The database that a command works on. */
import { existsSync } from "node:fs";
import { join } from "node:path";
import { loadConfig } from "../config/load.js";
import type { Config } from "../config/schema.js";
import { reasonOf } from "../core/log.js";
import { isPostgres, openNamed, whereIs } from "../state/database/open.js";
import { DatabaseAway, type Sql } from "../state/database/sql.js";
import { defaultStateDirectory } from "../state/directory.js";
import { journalFolder } from "../state/journal/segment.js";
import { configOptions, type Given, type Option, UsageError } from "./command.js";
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
  const wanted = wantedDatabase(given);
  if (wanted !== undefined && !make && !isPostgres(wanted) && !existsSync(wanted)) {
    return noDatabase(wanted);
  }
  const { where, ...known } = await chooseDatabase(given);
  const database = { sql: openNamed(where), ...known };
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

/**
 * What `--database` says.
 * @throws UsageError if it is neither a file nor PostgreSQL: a mistyped address would be a new file
 */
function wantedDatabase(given: Given): string | undefined {
  const wanted = given.text("database");
  if (wanted === undefined || isPostgres(wanted)) return wanted;
  if (wanted !== "sqlite" && !/^[a-z][a-z\d+.-]*:\/\//i.test(wanted)) return wanted;
  throw new UsageError(
    "--database must be a file of SQLite (./sqlite for one of that name), or postgres://user@host/name",
  );
}

/** Says that there is none at this place. @returns the exit code */
export function noDatabase(where: string): number {
  say(`lintel: there is no database ${where}`);
  return 1;
}

/**
 * The database that is asked for, not opened: the URL of PostgreSQL, or a file of SQLite.
 * @throws ConfigError if the configuration is wrong
 */
export async function chooseDatabase(
  given: Given,
): Promise<Omit<OpenDatabase, "sql"> & { readonly where: string }> {
  const wanted = wantedDatabase(given);
  if (wanted !== undefined) return { where: wanted };
  const { config } = await loadConfig({ file: given.text("config") });
  const directory = config.state.directory ?? defaultStateDirectory();
  return {
    where: whereIs(config.state.database, directory),
    config,
    journal: join(directory, journalFolder),
  };
}
