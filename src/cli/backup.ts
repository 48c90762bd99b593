/** `lintel backup`: a copy of SQLite's database, also while gateways use it. */
import { closeSync, existsSync, linkSync, openSync, renameSync, rmSync } from "node:fs";
import { resolve } from "node:path";
import { randomId } from "../core/random-id.js";
import { isPostgres } from "../state/database/open.js";
import { startThread } from "../thread.js";
import type { Copying } from "./backup-thread.js";
import type { Command } from "./command.js";
import { chooseDatabase, databaseOptions, isMissing, noDatabase } from "./database.js";
import { out, say } from "./output.js";

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
    const forget = removedOnSignal(part);
    try {
      // SQLite takes an empty file: so nobody else reads it.
      closeSync(openSync(part, "wx", 0o600));
    } catch (error) {
      forget();
      return cannot(error);
    }
    try {
      await copy(where, part);
      give(part, file);
    } catch (error) {
      if (!(error instanceof NotCopied)) return cannot(error);
      say(`lintel: ${where} can't be copied: ${error.message}`);
      return 1;
    } finally {
      rmSync(part, { force: true });
      forget();
    }
    out(file);
    return 0;
  },
};

/** The database can't be read, or its copy not be written. */
class NotCopied extends Error {}

/**
 * Removes a file when a signal ends the process, which it does then as if nobody had listened.
 * @returns listens no more
 */
function removedOnSignal(path: string): () => void {
  const signals = ["SIGINT", "SIGTERM"] as const;
  const leave = (signal: NodeJS.Signals) => {
    rmSync(path, { force: true });
    forget();
    // Not by `exit`, which waits for the thread, and that for SQLite.
    process.kill(process.pid, signal);
  };
  const forget = () => {
    for (const signal of signals) process.off(signal, leave);
  };
  for (const signal of signals) process.on(signal, leave);
  return forget;
}

/**
 * Copies in a thread: SQLite does it in one piece, in which no signal would be heard.
 * @throws NotCopied
 */
function copy(from: string, to: string): Promise<void> {
  // Absolute paths: SQLite reads what begins with `file:` as a URI.
  const data: Copying = { from: resolve(from), to: resolve(to) };
  const thread = startThread("./backup-thread", import.meta.url, { name: "lintel-backup", data });
  return new Promise((done, failed) => {
    thread.once("error", (cause) => failed(new NotCopied(cause.message, { cause })));
    thread.once("exit", () => done());
  });
}

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
