/** PostgreSQL behind PgBouncer in transaction mode: a session's settings are not its own there. */
import pg from "pg";
import { expect, onTestFinished, test } from "vitest";
import { PostgresSql } from "../../../src/state/database/postgres.js";
import { rowsOf, ValueRefused } from "../../../src/state/database/sql.js";
import { DatabaseTokens } from "../../../src/state/database/tokens.js";
import { DatabaseUsage } from "../../../src/state/database/usage.js";
import { noPgBouncer, startPgBouncer } from "../../support/pgbouncer.js";
import { linesOf, record } from "../record.js";
import { onPostgres } from "./databases.js";

onPostgres((make) => {
  if (noPgBouncer !== undefined) {
    test.skip(noPgBouncer, () => {});
    return;
  }

  /** A database, and a connection to it. */
  async function connected(url: string): Promise<pg.Client> {
    const client = new pg.Client(url);
    await client.connect();
    onTestFinished(() => client.end());
    return client;
  }

  test("others who share a connection keep their settings", async () => {
    const url = await startPgBouncer((await make()).place, 1);
    const sql = new PostgresSql(url, 3000);
    onTestFinished(() => sql.close());
    const shown = async (client: pg.Client) =>
      (await client.query("SHOW lock_timeout")).rows[0].lock_timeout;
    const other = await connected(url);
    expect(await shown(other)).toBe("0");
    await new DatabaseTokens(sql).create({ name: "a" });
    expect(await new DatabaseUsage(sql).insert(linesOf(record()))).toEqual([]);
    expect(await new DatabaseUsage(sql).totals([])).toMatchObject([{ calls: 1 }]);
    const text = "INSERT INTO lintel_counters (name, value) VALUES ('tokens', 1)";
    await expect(sql.run([{ text }])).rejects.toBeInstanceOf(ValueRefused);
    expect(await shown(other)).toBe("0");
  });

  test("what waits for a lock gives up, whichever connection it gets", async () => {
    const { place } = await make();
    const url = await startPgBouncer(place, 2);
    const sql = new PostgresSql(url, 3000);
    onTestFinished(() => sql.close());
    const usage = new DatabaseUsage(sql);
    await usage.insert(linesOf(record()));
    const holder = await connected(place);
    await holder.query("BEGIN; LOCK TABLE lintel_usage IN ACCESS EXCLUSIVE MODE");
    // Has the connection that was used before.
    const other = await connected(url);
    await other.query("BEGIN; SELECT 1");
    await expect(usage.insert(linesOf(record()))).rejects.toMatchObject({
      cause: { message: "canceling statement due to lock timeout" },
    });
    await other.query("ROLLBACK");
    const waiting = "SELECT pid FROM pg_stat_activity WHERE wait_event_type = 'Lock'";
    expect((await holder.query(waiting)).rows).toEqual([]);
    await holder.query("ROLLBACK");
    await usage.insert(linesOf(record()));
    expect(await rowsOf(sql, "SELECT count(*) AS n FROM lintel_usage")).toEqual([{ n: 2 }]);
  });
});
