/**
 * The thread that SQLite runs in: its calls wait for the disk, and those of the
 * gateway must not. One message is one transaction.
 */
import { chmodSync } from "node:fs";
import { parentPort, workerData } from "node:worker_threads";
import { missing, readVersion, versionTable, writeVersion } from "./migrations.js";
import type { Row, Statement } from "./sql.js";
import { openSqlite, type SqliteDatabase } from "./sqlite-library.js";

/** What the thread is asked. */
export interface Question {
  readonly id: number;
  /** Absent: to close the database and leave. */
  readonly statements?: readonly Statement[];
}

/** What it answers. */
export type Answer =
  | { readonly id: number; readonly rows: readonly (readonly Row[])[] }
  | { readonly id: number; readonly failure: { message: string; refused: boolean } };

/** How long a writer waits for another process's, milliseconds. */
const busyMs = 10_000;

const { path } = workerData as { path: string };
let database: SqliteDatabase | undefined;
type Prepared = ReturnType<SqliteDatabase["prepare"]>;
const prepared = new Map<string, Prepared>();

async function open(): Promise<SqliteDatabase> {
  const opened = await openSqlite(path);
  try {
    opened.exec(`PRAGMA busy_timeout = ${busyMs}`);
    opened.exec("PRAGMA journal_mode = WAL");
    // What is committed outlives a power cut: journals are deleted after it.
    opened.exec("PRAGMA synchronous = FULL");
    chmodSync(path, 0o600);
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
    db.exec("ROLLBACK");
    throw error;
  }
}

function run(db: SqliteDatabase, { text, values = [] }: Statement): readonly Row[] {
  const statement = prepared.get(text) ?? db.prepare(text);
  // Inserts of many rows have a text for each number of rows.
  if (prepared.size > 100) prepared.clear();
  prepared.set(text, statement);
  return statement.all(...values) as unknown as readonly Row[];
}

async function answer(statements: readonly Statement[]): Promise<readonly (readonly Row[])[]> {
  database ??= await open();
  const db = database;
  const reading = statements.every(({ text }) => text.startsWith("SELECT"));
  // A writer's is one from its begin: a reader that becomes one fails when another wrote meanwhile.
  const begin = reading ? "BEGIN" : "BEGIN IMMEDIATE";
  return transaction(db, () => statements.map((statement) => run(db, statement)), begin);
}

/** One after the other: a question must not run inside another's opening. */
let last: Promise<void> = Promise.resolve();

parentPort?.on("message", ({ id, statements }: Question) => {
  last = last.then(async () => {
    if (!statements) {
      prepared.clear();
      database?.close();
      return parentPort?.close();
    }
    let said: Answer;
    try {
      said = { id, rows: await answer(statements) };
    } catch (error) {
      said = { id, failure: failureOf(error) };
    }
    parentPort?.postMessage(said);
  });
});

/** SQLITE_TOOBIG, SQLITE_CONSTRAINT, SQLITE_MISMATCH, SQLITE_RANGE, as SQLite says them. */
const refusals =
  /constraint failed|string or blob too big|datatype mismatch|column index out of range/;

/** By its words: the libraries give a number with some errors only. */
function failureOf(error: unknown) {
  const { message } = error as Error;
  return { message, refused: refusals.test(message) };
}
