/** PostgreSQL alone. */
import pg from "pg";
import { expect, onTestFinished, test } from "vitest";
import { hashToken } from "../../../src/core/tokens.js";
import { PostgresSql } from "../../../src/state/database/postgres.js";
import { DatabaseAway, rowsOf } from "../../../src/state/database/sql.js";
import { DatabaseTokens } from "../../../src/state/database/tokens.js";
import { DatabaseUsage } from "../../../src/state/database/usage.js";
import { linesOf, record } from "../record.js";
import { onPostgres } from "./databases.js";

onPostgres((make) => {
  test("a connection that ends in the middle of a transaction is one failure, and no more", async () => {
    const { again } = await make();
    const sql = again();
    const end = { text: "SELECT pg_terminate_backend(pg_backend_pid())" };
    const insert = { text: "INSERT INTO lintel_counters (name, value) VALUES ('a', 1)" };
    await expect(sql.run([insert, end, insert])).rejects.toBeInstanceOf(DatabaseAway);
    expect(await rowsOf(sql, "SELECT name FROM lintel_counters")).toEqual([{ name: "tokens" }]);
  });

  test("a statement that reads all there is may take longer than others", async () => {
    const { place } = await make();
    const sql = new PostgresSql(place, 300);
    onTestFinished(() => sql.close());
    const slow = { text: "SELECT 1 AS one FROM pg_sleep(1)" };
    await expect(sql.run([slow])).rejects.toBeInstanceOf(DatabaseAway);
    expect(await sql.run([{ ...slow, long: true }])).toEqual([[{ one: 1 }]]);
  });

  test("what waits for a lock leaves no connection that goes on waiting", async () => {
    const { again, place } = await make();
    const holder = again();
    await rowsOf(holder, "SELECT 1 AS one");
    const locked = new pg.Client(place);
    onTestFinished(() => locked.end());
    await locked.connect();
    await locked.query("BEGIN; LOCK TABLE lintel_usage IN ACCESS EXCLUSIVE MODE");
    const sql = new PostgresSql(place, 3000);
    onTestFinished(() => sql.close());
    const insertion = new DatabaseUsage(sql).insert(linesOf(record()));
    await expect(insertion).rejects.toMatchObject({
      name: "DatabaseAway",
      cause: { message: "canceling statement due to lock timeout" },
    });
    const waiting = `SELECT pid FROM pg_stat_activity
      WHERE datname = current_database() AND wait_event_type = 'Lock'`;
    expect(await rowsOf(holder, waiting)).toEqual([]);
    await locked.query("ROLLBACK");
    expect(await new DatabaseUsage(sql).insert(linesOf(record()))).toEqual([]);
  });

  test("one that can be read only answers a gateway that starts, and takes no records", async () => {
    const { again } = await make();
    const before = again();
    const made = await new DatabaseTokens(before).create({ name: "a" });
    await new DatabaseUsage(before).insert(linesOf(record()));
    const [{ current = "" } = {}] = await rowsOf(before, "SELECT current_database() AS current");
    await before.run([
      { text: `ALTER DATABASE ${current} SET default_transaction_read_only = on` },
    ]);
    const sql = again();
    const tokens = new DatabaseTokens(sql);
    expect(await tokens.find([hashToken(made?.secret ?? "")])).toMatchObject([{ name: "a" }]);
    expect((await tokens.changes()).version).toBe(1);
    expect(await new DatabaseUsage(sql).totals([])).toMatchObject([{ calls: 1 }]);
    const insertion = new DatabaseUsage(sql).insert(linesOf(record()));
    await expect(insertion).rejects.toBeInstanceOf(DatabaseAway);
  });
});
