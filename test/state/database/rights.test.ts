/** Users of PostgreSQL who may do no more than docs/tokens.md says that each of them needs. */
import { readFileSync } from "node:fs";
import { join } from "node:path";
import pg from "pg";
import { describe, expect, onTestFinished, test } from "vitest";
import { openNamed } from "../../../src/state/database/open.js";
import { DatabaseTokens } from "../../../src/state/database/tokens.js";
import { DatabaseUsage } from "../../../src/state/database/usage.js";
import { noPostgres, startPostgres } from "../../support/postgres.js";
import { linesOf, record } from "../record.js";

const page = readFileSync(join(import.meta.dirname, "../../../docs/tokens.md"), "utf8");
const [, grants = ""] = /```sql\n(.*?)```/s.exec(page) ?? [];

describe.skipIf(noPostgres !== undefined)("the least rights in PostgreSQL", () => {
  test("are enough for a gateway, for tokens and for usage", async () => {
    const server = await startPostgres();
    onTestFinished(() => server.remove());
    const url = await server.create("shared");
    const open = (user: string) => {
      const sql = openNamed(url.replace("lintel@", `${user}@`));
      onTestFinished(() => sql.close());
      return { tokens: new DatabaseTokens(sql), usage: new DatabaseUsage(sql) };
    };
    const owner = open("lintel");
    expect(await owner.tokens.list()).toEqual([]);
    const client = new pg.Client(url);
    await client.connect();
    for (const user of ["gateway", "operator", "report"])
      await client.query(`CREATE ROLE ${user} LOGIN`);
    await client.query(grants);
    await client.end();

    const { tokens } = open("operator");
    await tokens.create({ name: "alice" });
    await tokens.rotate("alice", { graceMs: 1000 });
    await tokens.revoke("alice");
    expect(await tokens.list()).toMatchObject([{ name: "alice" }]);

    const gateway = open("gateway");
    expect((await gateway.tokens.changes(0)).tokens).toHaveLength(1);
    expect(await gateway.tokens.find(["none"])).toEqual([]);
    expect(await gateway.usage.insert(linesOf(record({ at: 1, spend: 1 }), record()))).toEqual([]);
    expect(await gateway.usage.totals([])).toMatchObject([{ calls: 2 }]);
    expect(await gateway.usage.purge(2)).toBe(1);
    expect(await gateway.usage.lifetimes(Date.now())).toHaveLength(1);
    await expect(gateway.tokens.create({ name: "bob" })).rejects.toThrow();

    expect(await open("report").usage.totals(["token"])).toMatchObject([{ calls: 1 }]);
  });
});
