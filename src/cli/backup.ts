/** `lintel backup`: a copy of SQLite's database, also while gateways use it. */
import { closeSync, fsyncSync, openSync, rmSync } from "node:fs";
import { resolve } from "node:path";
import { isPostgres } from "../state/database/open.js";
import { openSqlite } from "../state/database/sqlite-library.js";
import type { Command } from "./command.js";
import { chooseDatabase, databaseOptions, isMissing, noDatabase } from "./database.js";
import { out, say } from "./output.js";

/** How long a gateway that writes is waited for, milliseconds. */
const busyMs = 10_000;

/** Why a file can't be made. */
const reasons: Readonly<Record<string, string>> = {
  EEXIST: "is there already",
  ENOENT: "can't be written: there is no such folder",
};

export const backup: Command = {
  summary: "copies the database of tokens and usage, also while a gateway runs",
  operand: "FILE",
  details: `FILE must not be there yet. It is a whole database of SQLite, with nothing beside it.
PostgreSQL is copied with its own pg_dump.`,
  options: databaseOptions,
  async run(given) {
    const place = await chooseDatabase(given);
    const { where } = place;
    if (isPostgres(where)) {
      say("lintel: the database is PostgreSQL: use its own pg_dump");
      return 1;
    }
    if (isMissing(place)) return noDatabase(place);
    const file = given.operand;
    try {
      // SQLite takes an empty file: so nobody else reads it, and none that is there is lost.
      closeSync(openSync(file, "wx", 0o600));
    } catch (error) {
      const { code = "" } = error as NodeJS.ErrnoException;
      say(`lintel: ${file} ${reasons[code] ?? `can't be written (${code})`}`);
      return 1;
    }
    try {
      await copy(where, file);
    } catch (error) {
      rmSync(file, { force: true });
      say(`lintel: ${where} can't be copied: ${(error as Error).message}`);
      return 1;
    }
    out(file);
    return 0;
  },
};

/** As of one moment, with what is still in the log beside the database. */
async function copy(from: string, to: string): Promise<void> {
  // Absolute paths: SQLite reads what begins with `file:` as a URI.
  const database = await openSqlite(resolve(from));
  try {
    database.exec(`PRAGMA busy_timeout = ${busyMs}`);
    database.prepare("VACUUM INTO ?").run(resolve(to));
  } finally {
    database.close();
  }
  const written = openSync(to, "r+");
  try {
    fsyncSync(written);
  } finally {
    closeSync(written);
  }
}
