/** The thread in which `lintel backup` copies: as of one moment, with what is still in the log beside the database. */
import { closeSync, fsyncSync, openSync } from "node:fs";
import { workerData } from "node:worker_threads";
import { openSqlite } from "../state/database/sqlite-library.js";

/** What it does. */
export interface Copying {
  /** The database; an absolute path. */
  readonly from: string;
  /** An empty file; an absolute path. */
  readonly to: string;
}

/** How long a gateway that writes is waited for, milliseconds. */
const busyMs = 10_000;

const { from, to } = workerData as Copying;
const database = await openSqlite(from);
try {
  database.exec(`PRAGMA busy_timeout = ${busyMs}`);
  database.prepare("VACUUM INTO ?").run(to);
} finally {
  database.close();
}
const written = openSync(to, "r+");
try {
  fsyncSync(written);
} finally {
  closeSync(written);
}
