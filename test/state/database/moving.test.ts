/** From SQLite to PostgreSQL, by the very lines of docs/operations.md. */
import { execFileSync } from "node:child_process";
import { mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { beforeAll, describe, expect, onTestFinished, test } from "vitest";
import { createToken, hashToken } from "../../../src/core/tokens.js";
import { openNamed } from "../../../src/state/database/open.js";
import { rowsOf, type Sql } from "../../../src/state/database/sql.js";
import { DatabaseTokens } from "../../../src/state/database/tokens.js";
import { DatabaseUsage } from "../../../src/state/database/usage.js";
import { build, entry } from "../../cli/lintel.js";
import { noPostgres, startPostgres } from "../../support/postgres.js";
import { linesOf, record } from "../record.js";

beforeAll(build);

const page = readFileSync(join(import.meta.dirname, "../../../docs/operations.md"), "utf8");
const [, steps = ""] =
  /\n## From SQLite to PostgreSQL\n[\s\S]*?```sh\n([\s\S]*?)```/.exec(page) ?? [];

/** The programs that the steps want besides ours. */
const missing = ["sqlite3", "psql"].filter((name) => {
  try {
    execFileSync(name, ["--version"], { stdio: "ignore" });
    return false;
  } catch {
    return true;
  }
});
if (missing.length > 0) {
  console.warn(
    `the way from SQLite to PostgreSQL is not tested: there is no ${missing.join(", ")}`,
  );
}

/** Tokens in every state, and records with everything that a text may have. */
async function fill(sql: Sql) {
  const tokens = new DatabaseTokens(sql);
  const limits = { requestsPerMinute: Number.POSITIVE_INFINITY, concurrent: 4 };
  const expiresAt = Date.UTC(2099, 0, 1);
  const alice = await tokens.create({ name: "alice", models: ["m", "i-*"], limits, expiresAt });
  const other = await tokens.create({ name: `o'neil, "x"` });
  await tokens.create({ name: "left" });
  await tokens.revoke("left");
  const rotated = await tokens.rotate(`o'neil, "x"`, { graceMs: 3_600_000 });
  if (!alice || !other || !rotated || "refused" in rotated) throw new Error("not made");
  const usage = new DatabaseUsage(sql);
  await usage.insert(
    linesOf(
      record({ id: "old", at: 1, team: "red", spend: 12_345_678_901_234 }),
      record({ id: "older", at: 0, token: undefined, model: undefined, spend: 3 }),
      record({ id: "full", firstMs: 1.25, spend: 12_345_678_901_234, estimated: true }),
      record({ id: "told", cachedTokens: 4, cacheWriteTokens: 2, reasoningTokens: 0 }),
      record({ id: "bare", token: undefined, model: undefined, backend: undefined }),
      record({ id: "odd", caller: `a, "b"\nc\r\nd 'é😀\\N`, model: "", durationMs: 20.25 }),
    ),
  );
  expect(await usage.purge(2)).toBe(2);
  return [alice.secret, other.secret, rotated.secret];
}

describe.skipIf(noPostgres !== undefined || missing.length > 0)("SQLite's tables", () => {
  test("are in PostgreSQL afterwards as they were, and go on", async () => {
    const home = mkdtempSync(join(tmpdir(), "lintel-moving-"));
    onTestFinished(() => rmSync(home, { recursive: true }));
    const server = await startPostgres();
    onTestFinished(() => server.remove());
    const url = await server.create("moved");
    const file = join(home, "lintel.db");
    const before = openNamed(file);
    onTestFinished(() => before.close());
    const secrets = await fill(before);

    const script = steps
      .replaceAll("npx lintel", `"${process.execPath}" "${entry}"`)
      .replaceAll("/var/lib/lintel/lintel.db", file);
    expect(script).toContain(file);
    const env = { ...process.env, DATABASE_URL: url };
    execFileSync("sh", ["-ec", script], { env, cwd: home, stdio: ["ignore", "pipe", "inherit"] });

    const after = openNamed(url);
    onTestFinished(() => after.close());
    for (const table of ["lintel_tokens", "lintel_usage", "lintel_usage_past", "lintel_counters"]) {
      const text = `SELECT * FROM ${table} ORDER BY 1`;
      const rows = await rowsOf(before, text);
      expect(rows.length).toBeGreaterThan(0);
      expect(await rowsOf(after, text)).toEqual(rows);
    }
    const tokens = new DatabaseTokens(after);
    const names = async (secret: string) =>
      (await tokens.find([hashToken(secret)])).map(({ name }) => name);
    const found = await Promise.all([...secrets, createToken()].map(names));
    expect(found).toEqual([["alice"], [`o'neil, "x"`], [`o'neil, "x"`], []]);
    // Gateways hear of what comes by versions, which go on from where they were.
    const { version } = await tokens.changes();
    await tokens.create({ name: "new" });
    const changes = await tokens.changes(version);
    expect(changes.tokens.map(({ name }) => name)).toEqual(["new"]);
  });
});
