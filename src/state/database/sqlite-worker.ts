/**
 * A thread that SQLite runs in: its calls wait for the disk, and those of the
 * gateway must not. One message is one transaction.
 */
import { chmodSync, type Stats, statSync } from "node:fs";
import { parentPort, workerData } from "node:worker_threads";
import { missing, readVersion, versionTable, writeVersion } from "./migrations.js";
import { type Row, type Statement, ValueRefused } from "./sql.js";
import { insertions, type PackedInsertion } from "./sqlite-insert.js";
import { openSqlite, type SqliteDatabase } from "./sqlite-library.js";

/** What the thread begins with. */
export interface ThreadData {
  /** Of the database's file. */
  readonly path: string;
  /** Whether it only reads, beside another that made the tables and has them open. */
  readonly reader: boolean;
}

/** What the thread is asked; nothing: to close the database and leave. */
export interface Question {
  readonly id: number;
  readonly statements?: readonly Statement[];
  readonly insertion?: PackedInsertion;
}

/** What it answers. */
export type Answer =
  | { readonly id: number; readonly rows: readonly (readonly Row[])[] }
  | { readonly id: number; readonly failure: { message: string; refused: boolean } };

/** How long a writer waits for another process's, milliseconds. */
const busyMs = 10_000;

/** The same for rows that are tried again anyway: questions behind them wait as long. */
const insertBusyMs = 500;

const { path, reader } = workerData as ThreadData;
let database: { readonly sqlite: SqliteDatabase; readonly files: Files } | undefined;
/** The database's file, and the two that SQLite keeps beside it, as they were when it was opened. */
type Files = readonly (Stats | undefined)[];
const log = `${path}-wal`;
const paths = [path, log, `${path}-shm`];
const filesNow = (): Files => paths.map((each) => statSync(each, { throwIfNoEntry: false }));
const same = (a: Stats | undefined, b: Stats | undefined) =>
  a !== undefined && a.ino === b?.ino && a.dev === b.dev;

type Prepared = ReturnType<SqliteDatabase["prepare"]>;
const prepared = new Map<string, Prepared>();

/**
 * The database, opened if it is not, or if another file was put in its place.
 * @throws Error if the file is gone: what is written to it is gone with it, and a new one
 *   in its place would know no token; if its log is gone: what is written to that is gone with this
 *   process, unless it ends in order; or if another one is there, but beside it still what
 *   belongs to the one before, which SQLite would lay over it
 */
async function current(): Promise<SqliteDatabase> {
  if (database) {
    const { sqlite, files } = database;
    const file = statSync(path, { throwIfNoEntry: false });
    if (!file) throw new Error(`the database's file was removed: ${path}`);
    if (same(file, files[0])) {
      if (!files[1] || same(statSync(log, { throwIfNoEntry: false }), files[1])) return sqlite;
      throw new Error(
        `${log} was removed while the database was open, and has what was written last: restart this process, which brings that back`,
      );
    }
    // While it is open, no other file gets the number of one of its own.
    const now = filesNow();
    const left = paths.filter((_, i) => i > 0 && same(now[i], files[i]));
    if (left.length > 0) {
      throw new Error(
        `the database's file was replaced, but what is beside it belongs to the one before: remove ${left.join(" and ")}`,
      );
    }
    letGo();
  }
  const sqlite = await open();
  database = { sqlite, files: filesNow() };
  return sqlite;
}

function letGo(): void {
  prepared.clear();
  const { sqlite } = database ?? {};
  database = undefined;
  sqlite?.close();
}

async function open(): Promise<SqliteDatabase> {
  const opened = await openSqlite(path, { readOnly: reader });
  try {
    opened.exec(`PRAGMA busy_timeout = ${busyMs}`);
    if (reader) {
      // What is beside the file is opened with the first row that is read.
      opened.prepare(readVersion).get();
      return opened;
    }
    // Before anything is written, which a full disk refuses, and before there are files beside it, which take its mode.
    chmodSync(path, 0o600);
    opened.exec("PRAGMA journal_mode = WAL");
    // What is committed outlives a power cut: journals are deleted after it.
    opened.exec("PRAGMA synchronous = FULL");
    migrate(opened);
    return opened;
  } catch (error) {
    opened.close();
    throw error;
  }
}

function migrate(db: SqliteDatabase): void {
  transaction(db, () => {
    db.exec(versionTable);
    const { version } = db.prepare(readVersion).get() as { version: number };
    for (const step of missing(version)) {
      for (const statement of step.statements) db.exec(statement);
      db.prepare(writeVersion).run(step.version, Date.now());
    }
  });
}

function transaction<T>(db: SqliteDatabase, work: () => T, begin = "BEGIN IMMEDIATE"): T {
  db.exec(begin);
  try {
    const result = work();
    db.exec("COMMIT");
    return result;
  } catch (error) {
    try {
      db.exec("ROLLBACK");
    } catch {
      // A full or broken disk has ended the transaction by itself: the reason is the first error.
    }
    throw error;
  }
}

function prepare(db: SqliteDatabase, text: string): Prepared {
  const statement = prepared.get(text) ?? db.prepare(text);
  // Questions for usage have a text for each combination of groups.
  if (prepared.size > 100) prepared.clear();
  prepared.set(text, statement);
  return statement;
}

const run = (db: SqliteDatabase, { text, values = [] }: Statement) =>
  prepare(db, text).all(...values) as unknown as readonly Row[];

function insert(db: SqliteDatabase, insertion: PackedInsertion): void {
  for (const { text, values } of insertions(insertion)) prepare(db, text).run(...values);
}

async function answer(question: Question): Promise<readonly (readonly Row[])[]> {
  const db = await current();
  const { statements = [], insertion } = question;
  if (insertion) {
    db.exec(`PRAGMA busy_timeout = ${insertBusyMs}`);
    try {
      transaction(db, () => insert(db, insertion));
    } finally {
      db.exec(`PRAGMA busy_timeout = ${busyMs}`);
    }
    return [];
  }
  const reading = statements.every(({ text }) => text.startsWith("SELECT"));
  // A writer's is one from its begin: a reader that becomes one fails when another wrote meanwhile.
  const begin = reading ? "BEGIN" : "BEGIN IMMEDIATE";
  return transaction(db, () => statements.map((statement) => run(db, statement)), begin);
}

/** One after the other: a question must not run inside another's opening. */
let last: Promise<void> = Promise.resolve();

parentPort?.on("message", (question: Question) => {
  last = last.then(async () => {
    const { id, statements, insertion } = question;
    if (!statements && !insertion) {
      letGo();
      return parentPort?.close();
    }
    let said: Answer;
    try {
      said = { id, rows: await answer(question) };
    } catch (error) {
      said = { id, failure: failureOf(error) };
    }
    parentPort?.postMessage(said);
  });
});

/** SQLITE_TOOBIG, SQLITE_CONSTRAINT, SQLITE_MISMATCH, SQLITE_RANGE, as SQLite says them. */
const refusals =
  /constraint failed|string or blob too big|datatype mismatch|column index out of range/;

/** By its words: the libraries give a number with some errors only. They name no file. */
function failureOf(error: unknown) {
  const { message } = error as Error;
  const refused = error instanceof ValueRefused || refusals.test(message);
  return { message: refused || message.includes(path) ? message : `${path}: ${message}`, refused };
}
