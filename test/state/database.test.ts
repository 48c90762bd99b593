/** What every database must do, against both. */
import { mkdirSync, mkdtempSync, readdirSync, readFileSync, renameSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, afterEach, beforeAll, describe, expect, test } from "vitest";
import { hashToken } from "../../src/core/tokens.js";
import type { UsageRecord } from "../../src/core/usage/record.js";
import { migrations } from "../../src/state/database/migrations.js";
import { openDatabase } from "../../src/state/database/open.js";
import { PostgresSql } from "../../src/state/database/postgres.js";
import {
  DatabaseAway,
  rowsOf,
  type Sql,
  type Statement,
  ValueRefused,
} from "../../src/state/database/sql.js";
import { DatabaseTokens, type Rotation } from "../../src/state/database/tokens.js";
import { DatabaseUsage } from "../../src/state/database/usage.js";
import { noPostgres, type PostgresServer, startPostgres } from "../support/postgres.js";
import { linesOf, record } from "./record.js";

const home = mkdtempSync(join(tmpdir(), "lintel-database-"));
let server: PostgresServer | undefined;
let count = 0;
const opened: Sql[] = [];

afterEach(async () => {
  await Promise.all(opened.splice(0).map((sql) => sql.close()));
});
afterAll(async () => {
  await server?.remove();
  rmSync(home, { recursive: true, force: true });
});

/** A new database; `again` opens the same as another process would. */
type Make = () => Promise<{ again(): Sql }>;

const subjects: readonly [string, Make, string | undefined][] = [
  [
    "SQLite",
    async () => {
      const directory = join(home, String(count++));
      return { again: () => open("sqlite", directory) };
    },
    undefined,
  ],
  [
    "PostgreSQL",
    async () => {
      const url = (await server?.create(`test_${count++}`)) ?? "";
      return { again: () => open(url, "") };
    },
    noPostgres,
  ],
];

function open(database: string, directory: string): Sql {
  const sql = openDatabase(database, directory);
  opened.push(sql);
  return sql;
}

/** Rotates a token; fails if that is refused. */
async function rotate(tokens: DatabaseTokens, which: string, rotation: Rotation) {
  const rotated = await tokens.rotate(which, rotation);
  if (!rotated || "refused" in rotated) throw new Error(`not rotated: ${rotated?.refused}`);
  return rotated;
}

describe.each(subjects)("%s", (name, make, missing) => {
  if (missing !== undefined) {
    test.skip(missing, () => {});
    return;
  }
  if (name === "PostgreSQL") {
    beforeAll(async () => {
      server = await startPostgres();
    });

    test("a connection that ends in the middle of a transaction is one failure, and no more", async () => {
      const { again } = await make();
      const sql = again();
      const end = { text: "SELECT pg_terminate_backend(pg_backend_pid())" };
      const insert = { text: "INSERT INTO lintel_counters (name, value) VALUES ('a', 1)" };
      await expect(sql.run([insert, end, insert])).rejects.toBeInstanceOf(DatabaseAway);
      expect(await rowsOf(sql, "SELECT name FROM lintel_counters")).toEqual([{ name: "tokens" }]);
    });

    test("a statement that reads all there is may take longer than others", async () => {
      const url = (await server?.create(`test_${count++}`)) ?? "";
      const sql = new PostgresSql(url, 300);
      opened.push(sql);
      const slow = { text: "SELECT 1 AS one FROM pg_sleep(1)" };
      await expect(sql.run([slow])).rejects.toBeInstanceOf(DatabaseAway);
      expect(await sql.run([{ ...slow, long: true }])).toEqual([[{ one: 1 }]]);
    });
  }

  if (name === "PostgreSQL") {
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
  }

  if (name === "SQLite") {
    describe("its file", () => {
      const countIn = (sql: Sql) => rowsOf(sql, "SELECT COUNT(*) AS calls FROM lintel_usage");
      const opened = async () => {
        const directory = join(home, String(count++));
        const sql = open("sqlite", directory);
        await new DatabaseUsage(sql).insert(linesOf(record()));
        return { directory, sql };
      };

      test("moved away: nothing is written to it, no other one is made, and it may come back", async () => {
        const { directory, sql } = await opened();
        renameSync(directory, `${directory}-moved`);
        mkdirSync(directory);
        const insertion = new DatabaseUsage(sql).insert(linesOf(record()));
        await expect(insertion).rejects.toBeInstanceOf(DatabaseAway);
        await expect(countIn(sql)).rejects.toThrow(/file was removed/);
        expect(readdirSync(directory)).toEqual([]);
        rmSync(directory, { recursive: true });
        renameSync(`${directory}-moved`, directory);
        expect(await countIn(sql)).toEqual([{ calls: 1 }]);
      });

      test("replaced: the one that is there is used", async () => {
        const { directory, sql } = await opened();
        rmSync(directory, { recursive: true });
        const other = open("sqlite", directory);
        const usage = new DatabaseUsage(other);
        await usage.insert(linesOf(record(), record()));
        expect(await countIn(sql)).toEqual([{ calls: 2 }]);
        await new DatabaseUsage(sql).insert(linesOf(record()));
        expect(await countIn(other)).toEqual([{ calls: 3 }]);
      });

      test("replaced: sums are those of the one that is there", async () => {
        const { directory, sql } = await opened();
        const usage = new DatabaseUsage(sql);
        expect(await usage.totals([])).toMatchObject([{ calls: 1 }]);
        rmSync(directory, { recursive: true });
        await expect(usage.totals([])).rejects.toThrow(/file was removed/);
        const other = new DatabaseUsage(open("sqlite", directory));
        await other.insert(linesOf(record(), record()));
        expect(await usage.totals([])).toMatchObject([{ calls: 2 }]);
      });

      test("closed after sums: all is in it, and nothing beside it", async () => {
        const { directory, sql } = await opened();
        await new DatabaseUsage(sql).totals([]);
        await sql.close();
        expect(readdirSync(directory)).toEqual(["lintel.db"]);
      });

      test("replaced, with the log of the one before beside it: away, until that is gone", async () => {
        const { directory, sql } = await opened();
        const file = join(directory, "lintel.db");
        const elsewhere = await opened();
        await new DatabaseUsage(elsewhere.sql).insert(linesOf(record()));
        await elsewhere.sql.close();
        const backup = readFileSync(join(elsewhere.directory, "lintel.db"));
        renameSync(join(elsewhere.directory, "lintel.db"), file);
        const words = `remove ${file}-wal and ${file}-shm`;
        await expect(countIn(sql)).rejects.toThrow(words);
        const insertion = new DatabaseUsage(sql).insert(linesOf(record()));
        await expect(insertion).rejects.toThrow(words);
        expect(readFileSync(file)).toEqual(backup);
        rmSync(`${file}-wal`);
        await expect(countIn(sql)).rejects.toThrow(`remove ${file}-shm`);
        rmSync(`${file}-shm`);
        expect(await countIn(sql)).toEqual([{ calls: 2 }]);
      });
    });

    test("nobody waits for a statement that reads all there is", async () => {
      const { again } = await make();
      const sql = again();
      const tokens = new DatabaseTokens(sql);
      const made = await tokens.create({ name: "a" });
      const counted = `SELECT COUNT(*) AS n FROM
        (WITH RECURSIVE c(x) AS (SELECT 1 UNION ALL SELECT x + 1 FROM c LIMIT ?) SELECT x FROM c)`;
      const count = (n: number) => sql.run([{ text: counted, values: [n], long: true }]);
      await count(1);
      const ended: string[] = [];
      const long = count(10_000_000).then((rows) => {
        ended.push("long");
        return rows;
      });
      await new DatabaseUsage(sql).insert(linesOf(record()));
      expect(await tokens.find([hashToken(made?.secret ?? "")])).toHaveLength(1);
      ended.push("short");
      expect(await long).toEqual([[{ n: 10_000_000 }]]);
      expect(ended).toEqual(["short", "long"]);
    });

    test("a statement that reads all there is can't write", async () => {
      const { again } = await make();
      const sql = again();
      const text = "UPDATE lintel_counters SET value = 7";
      await expect(sql.run([{ text, long: true }])).rejects.toBeInstanceOf(DatabaseAway);
      expect(await rowsOf(sql, "SELECT value FROM lintel_counters")).toEqual([{ value: 0 }]);
    });

    test("a full disk is said to be that", async () => {
      const { again } = await make();
      const sql = again();
      await sql.run([{ text: "PRAGMA max_page_count = 1" }]);
      const all = Array.from({ length: 2000 }, (_, i) => record({ id: `r${i}` }));
      await expect(new DatabaseUsage(sql).insert(linesOf(...all))).rejects.toEqual(
        new DatabaseAway("database or disk is full"),
      );
      await sql.run([{ text: "PRAGMA max_page_count = 100000" }]);
      expect(await new DatabaseUsage(sql).insert(linesOf(...all))).toEqual([]);
    });
  }

  test("several processes that start at the same time make the tables once", async () => {
    const { again } = await make();
    const all = await Promise.all(
      Array.from({ length: 6 }, () => rowsOf(again(), "SELECT version FROM lintel_migrations")),
    );
    expect(all).toEqual(all.map(() => migrations.map((_, i) => ({ version: i + 1 }))));
  });

  test("a database that a newer Lintel made is not touched", async () => {
    const { again } = await make();
    const sql = again();
    const text = "INSERT INTO lintel_migrations (version, applied_at) VALUES (?, ?)";
    await sql.run([{ text, values: [migrations.length + 1, 0] }]);
    const older = rowsOf(again(), "SELECT * FROM lintel_tokens");
    await expect(older).rejects.toBeInstanceOf(DatabaseAway);
    await expect(older).rejects.toSatisfy((error: Error) =>
      `${error.message} ${error.cause}`.includes("made by a newer Lintel"),
    );
  });

  test("statements that run together are all done, or none", async () => {
    const { again } = await make();
    const sql = again();
    const text = "INSERT INTO lintel_counters (name, value) VALUES (?, ?)";
    const both = sql.run([
      { text, values: ["a", 1] },
      { text, values: ["tokens", 2] },
    ]);
    await expect(both).rejects.toBeInstanceOf(ValueRefused);
    expect(await rowsOf(sql, "SELECT name FROM lintel_counters")).toEqual([{ name: "tokens" }]);
  });

  test("writers at the same time wait for each other", async () => {
    const { again } = await make();
    const writers = [again(), again(), again()];
    const text = "UPDATE lintel_counters SET value = value + 1";
    // Few: SQLite lets whoever comes first have the lock, and a slow disk makes one wait for all.
    const rounds = Array.from({ length: 5 });
    await Promise.all(
      writers.map(async (sql) => {
        for (const _ of rounds) await sql.run([{ text }, { text }]);
      }),
    );
    expect(await rowsOf(again(), "SELECT value FROM lintel_counters")).toEqual([{ value: 30 }]);
  });

  describe("tokens", () => {
    test("are found by their hash, with all that they were given", async () => {
      const { again } = await make();
      const tokens = new DatabaseTokens(again());
      const expiresAt = Date.now() + 60_000;
      const limits = {
        requestsPerMinute: 60,
        tokensPerMinute: Number.POSITIVE_INFINITY,
        budget: { amount: 2.5, period: "month" as const },
      };
      const made = await tokens.create({ name: "Zoë 'x'", models: ["a", "b*"], limits, expiresAt });
      const plain = await tokens.create({ name: "plain" });
      const hashes = [made, plain].map((it) => hashToken(it?.secret ?? ""));
      const found = await new DatabaseTokens(again()).find([...hashes, hashToken("other")]);
      expect(found.toSorted((a, b) => a.createdAt - b.createdAt)).toEqual([
        expect.objectContaining({
          id: made?.id,
          name: "Zoë 'x'",
          hash: hashes[0],
          models: ["a", "b*"],
          limits,
          expiresAt,
        }),
        expect.objectContaining({ id: plain?.id, name: "plain", hash: hashes[1] }),
      ]);
      const [, second] = await tokens.list();
      for (const key of ["models", "limits", "expiresAt", "revokedAt", "previous"] as const) {
        expect(second?.[key]).toBeUndefined();
      }
    });

    test("a name is taken until its token is revoked", async () => {
      const { again } = await make();
      const tokens = new DatabaseTokens(again());
      await tokens.create({ name: "a" });
      expect(await tokens.create({ name: "a" })).toBeUndefined();
      expect(await tokens.revoke("a")).toMatchObject({ name: "a" });
      expect(await tokens.revoke("a")).toBeUndefined();
      expect(await tokens.create({ name: "a" })).toBeDefined();
      expect((await tokens.list()).map(({ revokedAt }) => revokedAt !== undefined)).toEqual([
        true,
        false,
      ]);
    });

    test("a rotated token keeps its id, and is found by both hashes", async () => {
      const { again } = await make();
      const tokens = new DatabaseTokens(again());
      const first = await tokens.create({ name: "a", models: ["m"] });
      const rotated = await rotate(tokens, first?.id ?? "", { graceMs: 60_000 });
      expect(rotated.token).toMatchObject({ id: first?.id, name: "a", models: ["m"] });
      const old = hashToken(first?.secret ?? "");
      const [byNew] = await tokens.find([hashToken(rotated.secret)]);
      expect(byNew?.previous).toMatchObject({ hash: old });
      expect(await tokens.find([old])).toEqual([byNew]);
      expect(await tokens.rotate("nobody", { graceMs: 0 })).toBeUndefined();
    });

    test("while an earlier grace runs, a token is rotated only by force", async () => {
      const { again } = await make();
      const tokens = new DatabaseTokens(again());
      const first = await tokens.create({ name: "a" });
      const second = await rotate(tokens, "a", { graceMs: 60_000 });
      const { version } = await tokens.changes();
      const before = await tokens.list();
      expect(await tokens.rotate("a", { graceMs: 0 })).toEqual({
        refused: "grace",
        token: before[0],
      });
      expect(before[0]?.previous?.hash).toBe(hashToken(first?.secret ?? ""));
      expect((await tokens.changes(version)).tokens).toEqual([]);
      const third = await rotate(tokens, "a", { graceMs: 0, force: true });
      expect(third.token.previous?.hash).toBe(hashToken(second.secret));
      // That grace has run out at once.
      await rotate(tokens, "a", { graceMs: 0 });
    });

    test("a token that expired is rotated only with another expiry", async () => {
      const { again } = await make();
      const tokens = new DatabaseTokens(again());
      const expiresAt = Date.now() - 1;
      await tokens.create({ name: "a", expiresAt });
      const refused = await tokens.rotate("a", { graceMs: 0, force: true });
      expect(refused).toMatchObject({ refused: "expired", token: { expiresAt } });
      const later = Date.now() + 60_000;
      const renewed = await rotate(tokens, "a", { graceMs: 0, expiresAt: later });
      expect(renewed.token.expiresAt).toBe(later);
      expect((await rotate(tokens, "a", { graceMs: 0 })).token.expiresAt).toBe(later);
      const { token } = await rotate(tokens, "a", { graceMs: 0, expiresAt: null });
      expect(token.expiresAt).toBeUndefined();
    });

    test("what expired counts no more, whatever grace is given or was", async () => {
      const { again } = await make();
      const tokens = new DatabaseTokens(again());
      const long = { graceMs: 60_000, expiresAt: Date.now() + 60_000 };
      await tokens.create({ name: "old", expiresAt: Date.now() - 1 });
      expect((await rotate(tokens, "old", long)).token.previous?.until ?? 0).toBe(0);
      await tokens.create({ name: "mine" });
      await rotate(tokens, "mine", { ...long, expiresAt: Date.now() - 1 });
      // The grace of then ended with the token.
      expect((await rotate(tokens, "mine", long)).token.previous?.until ?? 0).toBe(0);
    });

    test("changes are told in the order in which they can be seen", async () => {
      const { again } = await make();
      const [reader, ...writers] = [again(), again(), again(), again()].map(
        (sql) => new DatabaseTokens(sql),
      );
      let { version, tokens } = (await reader?.changes()) ?? { version: -1, tokens: [] };
      expect(tokens).toEqual([]);
      const seen = new Set<string>();
      let done = false;
      const reading = (async () => {
        while (!done) {
          const changes = await reader?.changes(version);
          expect(changes?.version).toBeGreaterThanOrEqual(version);
          version = changes?.version ?? version;
          for (const { name } of changes?.tokens ?? []) seen.add(name);
        }
      })();
      await Promise.all(
        writers.map(async (writer, w) => {
          for (let i = 0; i < 10; i++) await writer.create({ name: `${w}-${i}` });
        }),
      );
      await writers[0]?.revoke("1-1");
      done = true;
      await reading;
      for (const { name } of (await reader?.changes(version))?.tokens ?? []) seen.add(name);
      expect(seen.size).toBe(30);
    });
  });

  describe("usage", () => {
    const day = Date.UTC(2026, 1, 3);

    test("a record that arrives twice counts once, and is as it was", async () => {
      const { again } = await make();
      const usage = new DatabaseUsage(again());
      const full = record({ id: "a", firstMs: 1.25, spend: 12_345_678_901_234, estimated: true });
      const bare = record({ id: "b", token: undefined, model: undefined, backend: undefined });
      expect(await usage.insert(linesOf(full, bare))).toEqual([]);
      expect(await usage.insert(linesOf(bare, full, record({ id: "c" })))).toEqual([]);
      const rows = await rowsOf(again(), "SELECT * FROM lintel_usage ORDER BY id");
      expect(rows).toHaveLength(3);
      expect(rows[0]).toMatchObject({
        request_id: full.requestId,
        first_ms: 1.25,
        spend: 12_345_678_901_234,
        estimated: 1,
        attempts: 1,
      });
      expect(rows[1]).toMatchObject({ token: null, model: null, backend: null, first_ms: null });
    });

    test("many records at once, and one among them that is not taken", async () => {
      const { again } = await make();
      const usage = new DatabaseUsage(again());
      const good = Array.from({ length: 1200 }, (_, i) => record({ id: `n${i}` }));
      const bad = record({ id: "bad", caller: null as unknown as string });
      const [worse, ...lines] = linesOf(bad, ...good);
      const broken = '{"id":"broken"';
      const refused = await usage.insert([
        ...lines.slice(0, 700),
        worse as string,
        broken,
        ...lines.slice(700),
      ]);
      expect(refused.map(({ line }) => line)).toEqual([worse, broken]);
      expect(await usage.totals([])).toMatchObject([{ calls: 1200 }]);
    });

    test("lines are taken as earlier versions wrote them, as objects", async () => {
      const { again } = await make();
      const usage = new DatabaseUsage(again());
      const old = record({ id: "old", caller: "before", spend: 7, estimated: true });
      const lines = [JSON.stringify(old), ...linesOf(old, record({ caller: "now" }))];
      expect(await usage.insert(lines)).toEqual([]);
      expect(await usage.totals(["token"])).toMatchObject([
        { group: { token: "before" }, calls: 1, spend: 7, promptTokens: 10, completionTokens: 5 },
        { group: { token: "now" }, calls: 1, spend: 0 },
      ]);
    });

    test("text with every character is taken", async () => {
      const { again } = await make();
      const usage = new DatabaseUsage(again());
      expect(await usage.insert(linesOf(record({ caller: "a\0'\"\u{1f600}\ud800" })))).toEqual([]);
      expect(await usage.totals([])).toMatchObject([{ calls: 1 }]);
    });

    test("sums by groups, and of a part", async () => {
      const { again } = await make();
      const usage = new DatabaseUsage(again());
      const of = (n: number, more: Partial<UsageRecord>) => record({ id: `r${n}`, ...more });
      await usage.insert(
        linesOf(
          of(1, { at: day, caller: "a", model: "m", promptTokens: 3, spend: 5 }),
          of(2, { at: day + 3_600_000, caller: "a", model: "m", outcome: "cancelled" }),
          of(3, { at: day + 86_400_000, caller: "b", model: "m", images: 2, firstMs: 4 }),
          of(4, { at: day + 86_400_000, caller: "b", model: undefined, outcome: "rate_limited" }),
          of(5, {
            at: day + 86_400_001,
            caller: "b",
            model: "n",
            token: "t",
            durationMs: 30,
            requestId: "x",
          }),
        ),
      );
      expect(await usage.totals(["token", "model"])).toMatchObject([
        {
          group: { token: "a", model: "m" },
          calls: 2,
          failed: 0,
          cancelled: 1,
          promptTokens: 13,
          spend: 5,
        },
        { group: { token: "b", model: "" }, calls: 1, failed: 1, cancelled: 0 },
        { group: { token: "b", model: "m" }, calls: 1, failed: 0, images: 2, meanFirstMs: 4 },
        { group: { token: "b", model: "n" }, calls: 1, meanDurationMs: 30 },
      ]);
      const by = async (...groups: Parameters<DatabaseUsage["totals"]>[0]) =>
        (await usage.totals(groups)).map(({ group, calls }) => [...Object.values(group), calls]);
      expect(await by("day")).toEqual([
        ["2026-02-03", 2],
        ["2026-02-04", 3],
      ]);
      expect(await by("hour")).toEqual([
        ["2026-02-03T00:00Z", 1],
        ["2026-02-03T01:00Z", 1],
        ["2026-02-04T00:00Z", 3],
      ]);
      expect(await by("token", "month")).toEqual([
        ["b", "2026-02", 3],
        ["a", "2026-02", 2],
      ]);
      expect(await usage.totals([], { since: day + 1, until: day + 86_400_001 })).toMatchObject([
        { group: {}, calls: 3 },
      ]);
      expect(await usage.totals([], { token: "t" })).toMatchObject([{ calls: 1 }]);
      expect(await usage.totals(["model"], { token: "b", model: "n" })).toHaveLength(1);
      expect(await usage.totals(["model"], { request: "x" })).toMatchObject([
        { group: { model: "n" }, calls: 1 },
      ]);
      expect(await usage.totals([], { token: "nobody" })).toMatchObject([
        { calls: 0, failed: 0, cancelled: 0, spend: 0, meanDurationMs: 0, meanFirstMs: undefined },
      ]);
      expect(await usage.totals(["token"], { token: "nobody" })).toEqual([]);
    });

    test("sums may take as long as all records need", async () => {
      const asked: Statement[] = [];
      const run: Sql["run"] = async (statements) => {
        asked.push(...statements);
        return [[]];
      };
      const sql = { kind: "postgres" as const, run, insert: async () => {}, close: async () => {} };
      await new DatabaseUsage(sql).totals(["token"]);
      expect(asked).toEqual([expect.objectContaining({ long: true })]);
    });

    test("what is old is deleted", async () => {
      const { again } = await make();
      const usage = new DatabaseUsage(again());
      await usage.insert(
        linesOf(...Array.from({ length: 30 }, (_, i) => record({ id: `o${i}`, at: day + i }))),
      );
      // The clock tells fractions of a millisecond.
      expect(await usage.purge(day + 18.5)).toBe(19);
      expect(await usage.purge(day + 20)).toBe(1);
      expect(await usage.purge(day + 20)).toBe(0);
      expect(await usage.totals([])).toMatchObject([{ calls: 10 }]);
    });
  });

  test("what is closed is away", async () => {
    const { again } = await make();
    const sql = again();
    await rowsOf(sql, "SELECT 1 AS one");
    await sql.close();
    await expect(rowsOf(sql, "SELECT 1 AS one")).rejects.toBeInstanceOf(DatabaseAway);
  });
});
