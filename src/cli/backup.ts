/** `lintel backup`: a copy of SQLite's database, also while gateways use it. */
import { closeSync, existsSync, fsyncSync, linkSync, openSync, renameSync, rmSync } from "node:fs";
import { resolve } from "node:path";
import { randomId } from "../core/random-id.js";
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
    const cannot = (error: unknown) => {
      const { code = "" } = error as NodeJS.ErrnoException;
      say(`lintel: ${file} ${reasons[code] ?? `can't be written (${code})`}`);
      return 1;
    };
    if (existsSync(file)) return cannot({ code: "EEXIST" });
    // What is killed in the middle leaves nothing that could be taken for a backup.
    const part = `${file}.${randomId(6)}.part`;
    try {
      // SQLite takes an empty file: so nobody else reads it.
      closeSync(openSync(part, "wx", 0o600));
    } catch (error) {
      return cannot(error);
    }
    try {
      await copy(where, part);
    } catch (error) {
      rmSync(part, { force: true });
      say(`lintel: ${where} can't be copied: ${(error as Error).message}`);
      return 1;
    }
    try {
      give(part, file);
    } catch (error) {
      return cannot(error);
    } finally {
      rmSync(part, { force: true });
    }
    out(file);
    return 0;
  },
};

/** Gives a file its name, which another may have got meanwhile: that one stays. */
function give(part: string, file: string): void {
  try {
    linkSync(part, file);
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException;
    if (code === "EEXIST") throw error;
    // Some file systems have no links.
    renameSync(part, file);
  }
}

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
