/** Users of PostgreSQL who may do no more than docs/tokens.md says that each of them needs. */
import { readFileSync } from "node:fs";
import { join } from "node:path";
import pg from "pg";
import { describe, expect, onTestFinished, test, vi } from "vitest";
import { silent } from "../../../src/core/log.js";
import { openNamed } from "../../../src/state/database/open.js";
import { DatabaseOwnTokens } from "../../../src/state/database/own-tokens.js";
import { DatabaseTokens } from "../../../src/state/database/tokens.js";
import { DatabaseUsage } from "../../../src/state/database/usage.js";
import { noPostgres, startPostgres } from "../../support/postgres.js";
import { linesOf, record } from "../record.js";

const page = readFileSync(join(import.meta.dirname, "../../../docs/tokens.md"), "utf8");
const [grants = "", ownGrants = ""] = [...page.matchAll(/```sql\n(.*?)```/gs)].map(
  ([, sql]) => sql,
);

describe.skipIf(noPostgres !== undefined)("the least rights in PostgreSQL", () => {
  test.each<[string, (grants: string) => string, number, number]>([
    ["are enough for a gateway whose callers make tokens", (text) => text, 1, 0],
    [
      "that may delete none: they are made all the same",
      (text) => text.replace(", DELETE", ""),
      2,
      1,
    ],
  ])("%s", async (_what, granted, left, told) => {
    const server = await startPostgres();
    onTestFinished(() => server.remove());
    const url = await server.create("shared");
    const open = (user: string) => {
      const sql = openNamed(url.replace("lintel@", `${user}@`));
      onTestFinished(() => sql.close());
      return sql;
    };
    const owner = new DatabaseTokens(open("lintel"));
    expect(await owner.list()).toEqual([]);
    const client = new pg.Client(url);
    await client.connect();
    for (const user of ["gateway", "operator", "report"])
      await client.query(`CREATE ROLE ${user} LOGIN`);
    await client.query(grants);
    await client.query(granted(ownGrants));
    await client.end();
    const log = { ...silent, warn: vi.fn() };
    const own = new DatabaseOwnTokens(open("gateway"), log);
    const make = (name: string, expiresAt: number) =>
      own.create({
        owner: { caller: "corp:ann", issuer: "https://corp", claims: {} },
        ...{ name, expiresAt, max: 5, maxPerDay: 5 },
      });
    await make("old", 1);
    await vi.waitFor(async () => {
      expect(await owner.list()).toHaveLength(left - 1);
      expect(log.warn).toHaveBeenCalledTimes(told);
    });
    expect(await make("new", Date.now() + 60_000)).toMatchObject({ token: { name: "new" } });
    expect(await own.revoke("corp:ann", "new")).toBeDefined();
    expect(await owner.list()).toHaveLength(left);
    for (const [{ error }] of log.warn.mock.calls) expect(error).toContain("permission denied");
  });

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
