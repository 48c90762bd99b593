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

/** A database with its tables, and the users of the page with the rights that its statements give them. */
async function granting(...statements: string[]) {
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
  for (const one of statements) await client.query(one);
  await client.end();
  return { open, owner };
}

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
    const { open, owner } = await granting(grants, granted(ownGrants));
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
    const { open } = await granting(grants);

    const tokens = new DatabaseTokens(open("operator"));
    await tokens.create({ name: "alice" });
    await tokens.rotate("alice", { graceMs: 1000 });
    await tokens.revoke("alice");
    expect(await tokens.list()).toMatchObject([{ name: "alice" }]);

    const gateway = open("gateway");
    const known = new DatabaseTokens(gateway);
    const usage = new DatabaseUsage(gateway);
    expect((await known.changes(0)).tokens).toHaveLength(1);
    expect(await known.find(["none"])).toEqual([]);
    expect(await usage.insert(linesOf(record({ at: 1, spend: 1 }), record()))).toEqual([]);
    expect(await usage.totals([])).toMatchObject([{ calls: 2 }]);
    expect(await usage.purge(2)).toBe(1);
    expect(await usage.lifetimes(Date.now())).toHaveLength(1);
    await expect(known.create({ name: "bob" })).rejects.toThrow();

    const reported = new DatabaseUsage(open("report"));
    expect(await reported.totals(["token"])).toMatchObject([{ calls: 1 }]);
  });
});
