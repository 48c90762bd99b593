/** What a gateway's database has, SQLite or PostgreSQL, read without it. */
import pg from "pg";
import { openSqlite } from "../../src/state/database/sqlite-library.js";

/** A call's record. */
export interface Recorded {
  readonly request_id: string;
  readonly outcome: string;
  /** In billionths; of PostgreSQL as text. */
  readonly spend: number | bigint | string | null;
}

/** @param database a file of SQLite, or the URL of PostgreSQL */
async function read<T extends object>(database: string, query: string): Promise<T[]> {
  if (/^postgres/.test(database)) {
    const client = new pg.Client(database);
    client.on("error", () => {});
    try {
      await client.connect();
      return (await client.query<T>(query)).rows;
    } finally {
      await client.end().catch(() => {});
    }
  }
  const sqlite = await openSqlite(database, { readOnly: true });
  try {
    return sqlite.prepare(query).all() as T[];
  } finally {
    sqlite.close();
  }
}

/** How many there are; `undefined` while the database is away. */
export async function rows(
  database: string,
): Promise<{ usage: number; tokens: number } | undefined> {
  const [found] = await read<{ usage: number; tokens: number }>(
    database,
    "SELECT (SELECT count(*) FROM lintel_usage) AS usage, (SELECT count(*) FROM lintel_tokens) AS tokens",
  ).catch(() => []);
  return found;
}

/** All records of calls. */
export const recordsOf = (database: string): Promise<Recorded[]> =>
  read(database, "SELECT request_id, outcome, spend FROM lintel_usage");
