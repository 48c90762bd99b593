/** Statements and transactions of every database. */
import { expect, test } from "vitest";
import { migrations } from "../../../src/state/database/migrations.js";
import { DatabaseAway, rowsOf, ValueRefused } from "../../../src/state/database/sql.js";
import { onEveryDatabase } from "./databases.js";

onEveryDatabase((make) => {
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

  test("what is closed is away", async () => {
    const { again } = await make();
    const sql = again();
    await rowsOf(sql, "SELECT 1 AS one");
    await sql.close();
    await expect(rowsOf(sql, "SELECT 1 AS one")).rejects.toBeInstanceOf(DatabaseAway);
  });
});
