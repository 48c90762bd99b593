/** New databases of every kind, for tests. */
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, afterEach, beforeAll, describe, test } from "vitest";
import { openDatabase } from "../../../src/state/database/open.js";
import type { Sql } from "../../../src/state/database/sql.js";
import { noPostgres, type PostgresServer, startPostgres } from "../../support/postgres.js";

/** A database that is empty at first. */
export interface Database {
  /** Its folder, or its URL. */
  readonly place: string;
  /** Opens it as one more process would; it is closed when the test is over. */
  again(): Sql;
}

/** Makes one more. */
export type Make = () => Promise<Database>;

type Tests = (make: Make) => void;

/** Runs tests on every kind of database. */
export function onEveryDatabase(tests: Tests): void {
  onSqlite(tests);
  onPostgres(tests);
}

/** Runs tests on SQLite. */
export function onSqlite(tests: Tests): void {
  describe("SQLite", () => {
    const home = mkdtempSync(join(tmpdir(), "lintel-database-"));
    let made = 0;
    const opening = closed();
    afterAll(() => rmSync(home, { recursive: true, force: true }));
    tests(async () => {
      const place = join(home, String(made++));
      return { place, again: () => opening(openDatabase("sqlite", place)) };
    });
  });
}

/** Runs tests on PostgreSQL, where it is installed. */
export function onPostgres(tests: Tests): void {
  describe("PostgreSQL", () => {
    if (noPostgres !== undefined) {
      test.skip(noPostgres, () => {});
      return;
    }
    let server: PostgresServer | undefined;
    let made = 0;
    beforeAll(async () => {
      server = await startPostgres();
    });
    afterAll(() => server?.remove());
    const opening = closed();
    tests(async () => {
      if (!server) throw new Error("PostgreSQL was not started");
      const place = await server.create(`test_${made++}`);
      return { place, again: () => opening(openDatabase(place, "")) };
    });
  });
}

/** Closes what a test opened. */
function closed(): (sql: Sql) => Sql {
  const opened: Sql[] = [];
  afterEach(async () => {
    await Promise.all(opened.splice(0).map((sql) => sql.close()));
  });
  return (sql) => {
    opened.push(sql);
    return sql;
  };
}
