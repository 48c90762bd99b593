/** What a gateway's database of SQLite has, read without it. */
import { join } from "node:path";
import { openSqlite } from "../../src/state/database/sqlite-library.js";

/** A call's record. */
export interface Recorded {
  readonly request_id: string;
  readonly outcome: string;
  readonly spend: number | bigint | null;
}

const read = async <T>(state: string, query: string): Promise<T[]> => {
  const database = await openSqlite(join(state, "lintel.db"), { readOnly: true });
  try {
    return database.prepare(query).all() as T[];
  } finally {
    database.close();
  }
};

/** How many there are. */
export async function rows(state: string): Promise<{ usage: number; tokens: number }> {
  const [found] = await read<{ usage: number; tokens: number }>(
    state,
    "SELECT (SELECT count(*) FROM lintel_usage) AS usage, (SELECT count(*) FROM lintel_tokens) AS tokens",
  );
  return found ?? { usage: 0, tokens: 0 };
}

/** All records of calls. */
export const recordsOf = (state: string): Promise<Recorded[]> =>
  read(state, "SELECT request_id, outcome, spend FROM lintel_usage");
