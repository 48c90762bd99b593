/** SQLite alone. */
import { mkdirSync, readdirSync, readFileSync, renameSync, rmSync, statSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, test } from "vitest";
import { hashToken } from "../../../src/core/tokens.js";
import { groups } from "../../../src/core/usage/sums.js";
import { DatabaseAway, rowsOf, type Sql, type Statement } from "../../../src/state/database/sql.js";
import { DatabaseTokens } from "../../../src/state/database/tokens.js";
import { DatabaseUsage } from "../../../src/state/database/usage.js";
import { linesOf, record } from "../record.js";
import { onSqlite } from "./databases.js";

onSqlite((make) => {
  describe("its file", () => {
    const countIn = (sql: Sql) => rowsOf(sql, "SELECT COUNT(*) AS calls FROM lintel_usage");
    const opened = async () => {
      const { place: directory, again } = await make();
      const sql = again();
      await new DatabaseUsage(sql).insert(linesOf(record()));
      return { directory, sql, again };
    };

    test("one that can't be opened: it is named, with the reason", async () => {
      const { place: directory, again } = await make();
      mkdirSync(join(directory, "lintel.db"), { recursive: true });
      const sql = again();
      const reason = `${join(directory, "lintel.db")} can't be opened: `;
      await expect(countIn(sql)).rejects.toThrow(reason);
    });

    test.each([
      ["once it is made", false],
      ["where it can't be made whole, as on a full disk", true],
    ])("is its owner's alone %s, like those beside it", async (_when, broken) => {
      const { place: directory, again } = await make();
      // What SQLite keeps beside it has no room.
      if (broken) mkdirSync(join(directory, "lintel.db-wal"), { recursive: true });
      const counted = countIn(again());
      if (broken) await expect(counted).rejects.toBeInstanceOf(DatabaseAway);
      else await counted;
      const files = readdirSync(directory, { withFileTypes: true }).filter((one) => one.isFile());
      expect(files.map(({ name }) => name)).toContain("lintel.db");
      const modes = files.map(({ name }) => statSync(join(directory, name)).mode & 0o777);
      expect(new Set(modes)).toEqual(new Set([0o600]));
    });

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
      const { directory, sql, again } = await opened();
      rmSync(directory, { recursive: true });
      const other = again();
      const usage = new DatabaseUsage(other);
      await usage.insert(linesOf(record(), record()));
      expect(await countIn(sql)).toEqual([{ calls: 2 }]);
      await new DatabaseUsage(sql).insert(linesOf(record()));
      expect(await countIn(other)).toEqual([{ calls: 3 }]);
    });

    test("replaced: sums are those of the one that is there", async () => {
      const { directory, sql, again } = await opened();
      const usage = new DatabaseUsage(sql);
      expect(await usage.totals([])).toMatchObject([{ calls: 1 }]);
      rmSync(directory, { recursive: true });
      await expect(usage.totals([])).rejects.toThrow(/file was removed/);
      const other = new DatabaseUsage(again());
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

  test("without the log that was beside it: away, and all that was written is there after an end in order", async () => {
    const { place: directory, again } = await make();
    const sql = again();
    const usage = new DatabaseUsage(sql);
    await usage.insert(linesOf(record()));
    const log = join(directory, "lintel.db-wal");
    rmSync(log);
    const words = `${log} was removed while the database was open`;
    await expect(usage.insert(linesOf(record()))).rejects.toThrow(words);
    await expect(usage.totals([])).rejects.toThrow(words);
    await sql.close();
    const after = new DatabaseUsage(again());
    expect(await after.totals([])).toMatchObject([{ calls: 1 }]);
    await after.insert(linesOf(record()));
    expect(await after.totals([])).toMatchObject([{ calls: 2 }]);
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
    const full = new DatabaseUsage(sql).insert(linesOf(...all));
    await expect(full).rejects.toThrow(DatabaseAway);
    await expect(full).rejects.toThrow(/^\/.+\/lintel\.db: database or disk is full$/);
    await sql.run([{ text: "PRAGMA max_page_count = 100000" }]);
    expect(await new DatabaseUsage(sql).insert(linesOf(...all))).toEqual([]);
  });

  test("sums since a time read what came since then, whatever they are told apart by", async () => {
    const { again } = await make();
    const sql = again();
    const asked: Statement[] = [];
    const run: Sql["run"] = (statements) => {
      asked.push(...statements);
      return sql.run(statements);
    };
    const usage = new DatabaseUsage({
      kind: "sqlite",
      run,
      insert: async () => {},
      close: async () => {},
    });
    for (const group of groups)
      await usage.totals([group], { since: 1000, token: "a", model: "m" });
    for (const { text, values = [] } of asked) {
      const plan = await rowsOf(sql, `EXPLAIN QUERY PLAN ${text}`, values);
      expect(String(plan[0]?.detail)).toMatch(/^SEARCH lintel_usage USING INDEX lintel_usage_at/);
    }
    expect(asked).toHaveLength(groups.length);
  });
});
