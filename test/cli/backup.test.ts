import { readdirSync, readFileSync, statSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { beforeAll, expect, onTestFinished, test } from "vitest";
import { openDatabase, openNamed } from "../../src/state/database/open.js";
import { rowsOf, type Sql } from "../../src/state/database/sql.js";
import { openSqlite } from "../../src/state/database/sqlite-library.js";
import { DatabaseUsage } from "../../src/state/database/usage.js";
import { linesOf, record } from "../state/record.js";
import { runHere } from "./here.js";
import { build, folder, run, start } from "./lintel.js";

beforeAll(build);

const callsIn = (sql: Sql) => rowsOf(sql, "SELECT COUNT(*) AS calls FROM lintel_usage");

/** A configuration whose database has one call, and is open as a gateway has it. */
async function running() {
  const cwd = folder();
  const config = join(cwd, "lintel.yaml");
  const text = JSON.stringify({ state: { directory: cwd } });
  writeFileSync(config, text);
  const sql = openDatabase("sqlite", cwd);
  await new DatabaseUsage(sql).insert(linesOf(record()));
  return { cwd, config, sql };
}

test("a backup made while a gateway writes has all that was committed, and can be used", async () => {
  const { cwd, config, sql } = await running();
  const file = join(cwd, "copy.db");
  const made = await runHere(["backup", file, "--config", config]);
  expect(made).toEqual({ code: 0, stdout: `${file}\n`, stderr: "" });
  expect(statSync(file).mode & 0o777).toBe(0o600);
  await new DatabaseUsage(sql).insert(linesOf(record()));
  expect(await callsIn(sql)).toEqual([{ calls: 2 }]);
  const before = readFileSync(file);
  const again = await runHere(["backup", file, "--database", join(cwd, "lintel.db")]);
  expect(again).toMatchObject({ code: 1, stderr: `lintel: ${file} is there already\n` });
  expect(readFileSync(file)).toEqual(before);
  await sql.close();
  const copy = openNamed(file);
  expect(await callsIn(copy)).toEqual([{ calls: 1 }]);
  await copy.close();
});

test("a backup whose name begins like a URI is a file of that name", async () => {
  const { cwd, sql } = await running();
  await sql.close();
  const made = await run(["backup", "file:x.db", "--database", "lintel.db"], cwd);
  expect(made).toMatchObject({ code: 0, stdout: "file:x.db\n" });
  expect(readdirSync(cwd).sort()).toEqual(["file:x.db", "lintel.db", "lintel.yaml"]);
  const copy = openNamed(join(cwd, "file:x.db"));
  expect(await callsIn(copy)).toEqual([{ calls: 1 }]);
  await copy.close();
  const again = await run(["backup", "again.db", "--database", "file:x.db"], cwd);
  expect(again).toMatchObject({ code: 0, stdout: "again.db\n" });
});

test("what can't be copied is said, and nothing is left of it", async () => {
  const cwd = folder({ "no.db": "this is no database, but it is long enough to be looked at" });
  const backup = (...args: string[]) => runHere(["backup", ...args]);
  const file = join(cwd, "copy.db");
  const postgres = await backup(file, "--database", "postgres://nobody@127.0.0.1/none");
  expect(postgres).toMatchObject({ code: 1, stderr: expect.stringContaining("pg_dump") });
  const none = await backup(file, "--database", join(cwd, "none.db"));
  expect(none).toMatchObject({ code: 1, stderr: expect.stringContaining("there is no database") });
  const broken = await backup(file, "--database", join(cwd, "no.db"));
  expect(broken).toMatchObject({ code: 1, stderr: expect.stringContaining("can't be copied") });
  expect(statSync(file, { throwIfNoEntry: false })).toBeUndefined();
  const missing = join(cwd, "none", "copy.db");
  const nowhere = await backup(missing, "--database", join(cwd, "no.db"));
  const stderr = `lintel: ${missing} can't be written: there is no such folder\n`;
  expect(nowhere).toEqual({ code: 1, stdout: "", stderr });
  const below = join(cwd, "no.db", "copy.db");
  const nothing = await backup(below, "--database", join(cwd, "no.db"));
  expect(nothing.stderr).toBe(`lintel: ${below} can't be written (ENOTDIR)\n`);
});

test.each(["SIGINT", "SIGTERM"] as const)(
  "a backup that is interrupted in the middle by %s leaves nothing",
  async (signal) => {
    const { cwd, config, sql } = await running();
    await sql.close();
    const database = await openSqlite(join(cwd, "lintel.db"));
    onTestFinished(() => database.close());
    database.exec("PRAGMA journal_mode = DELETE; BEGIN EXCLUSIVE");
    const file = join(cwd, "copy.db");
    const child = start(["backup", file, "--config", config], cwd);
    const made = () => readdirSync(cwd).filter((name) => name.startsWith("copy.db"));
    await expect.poll(made).toEqual([expect.stringMatching(/^copy\.db\..+\.part$/)]);
    child.kill(signal);
    expect(await child.ended).toEqual({ code: null, signal });
    expect(made()).toEqual([]);
  },
);

test("a backup that is killed in the middle leaves nothing of its name", async () => {
  const { cwd, config, sql } = await running();
  await sql.close();
  const database = await openSqlite(join(cwd, "lintel.db"));
  onTestFinished(() => database.close());
  // Whoever holds it alone keeps others from reading it.
  database.exec("PRAGMA journal_mode = DELETE; BEGIN EXCLUSIVE");
  const file = join(cwd, "copy.db");
  const child = start(["backup", file, "--config", config], cwd);
  const made = () => readdirSync(cwd).filter((name) => name.startsWith("copy.db"));
  await expect.poll(made).toEqual([expect.stringMatching(/^copy\.db\..+\.part$/)]);
  child.kill("SIGKILL");
  await child.ended;
  expect(made()).not.toContain("copy.db");
  database.exec("ROLLBACK");
  expect(await runHere(["backup", file, "--config", config])).toMatchObject({ code: 0 });
});
