/** The database that a command works on. */
import { existsSync } from "node:fs";
import { join } from "node:path";
import { loadFields } from "../config/load.js";
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

/** What commands about it go by. */
const fields = [
  "auth.mode",
  "auth.oidc",
  "auth.teams",
  "auth.tokens",
  "state.database",
  "state.directory",
  "state.refresh",
  "time_zone",
  "trust_proxy",
  "usage.enabled",
] as const;

/** A database that is open. */
export interface OpenDatabase {
  readonly sql: Sql;
  /** Absent where `--database` says which. */
  readonly config?:
    | Pick<Config, "auth" | "state" | "time_zone" | "trust_proxy" | "usage">
    | undefined;
  /** Folder of usage that is on its way there; absent where that is not known. */
  readonly journal?: string | undefined;
}

/** Where a database is. */
type Place = Omit<OpenDatabase, "sql"> & {
  /** The URL of PostgreSQL, or a file of SQLite. */
  readonly where: string;
  /** What leads there, in words for the operator; absent where `--database` does. */
  readonly by?: string | undefined;
};

/** What a command wants before its work. */
interface Wish {
  /** Whether a file may be new. Default: no. */
  readonly make?: boolean;
  /** Runs first; what it brings there makes a file that is not there. */
  readonly before?: (database: OpenDatabase) => Promise<void>;
}

/**
 * Opens the database that is asked for and closes it in the end.
 * @returns the exit code: that of the work, or 1 if the database can't be used
 * @throws ConfigError if the configuration is wrong
 */
export async function withDatabase(
  given: Given,
  { make = false, before }: Wish,
  work: (database: OpenDatabase) => Promise<number>,
): Promise<number> {
  const place = await chooseDatabase(given);
  // It is opened, and made, when it is first asked something.
  const database = { sql: openNamed(place.where), ...place };
  try {
    await before?.(database);
    if (!make && isMissing(place)) return noDatabase(place);
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

/** Whether it is a file that is not there. */
export const isMissing = ({ where }: Place): boolean => !isPostgres(where) && !existsSync(where);

/** Says that there is none at this place. @returns the exit code */
export function noDatabase({ where, by }: Place): number {
  say(`lintel: there is no database ${where}${by === undefined ? "" : ` (${by})`}`);
  return 1;
}

/**
 * The database that is asked for, not opened.
 * @throws ConfigError if the configuration is wrong
 */
export async function chooseDatabase(given: Given): Promise<Place> {
  const wanted = wantedDatabase(given);
  if (wanted !== undefined) return { where: wanted };
  const { config, file } = await loadFields(fields, { file: given.text("config") });
  const directory = config.state.directory ?? defaultStateDirectory();
  return {
    where: whereIs(config.state.database, directory),
    by: file === undefined ? "no configuration file: --config names one" : `as ${file} has it`,
    config,
    journal: join(directory, journalFolder),
  };
}
