import {
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmSync,
  statSync,
  utimesSync,
  writeFileSync,
} from "node:fs";
import { hostname, tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, test, vi } from "vitest";
import { silent } from "../../src/core/log.js";
import { openDatabase } from "../../src/state/database/open.js";
import { DatabaseAway } from "../../src/state/database/sql.js";
import { DatabaseUsage } from "../../src/state/database/usage.js";
import { Journal } from "../../src/state/journal/journal.js";
import { Shipper, type ShipperSettings } from "../../src/state/journal/shipper.js";
import { WaitingFiles } from "../../src/state/journal/waiting-files.js";
import { FakeClock } from "../support/clock.js";
import { FlakySql } from "./flaky-sql.js";
import { linesOf, record } from "./record.js";

let home: string;
let directory: string;
let sql: FlakySql;
let usage: DatabaseUsage;
const log = { ...silent, info: vi.fn(), warn: vi.fn(), error: vi.fn() };
const shippers: Shipper[] = [];

beforeEach(() => {
  home = mkdtempSync(join(tmpdir(), "lintel-journal-"));
  directory = join(home, "usage");
  sql = new FlakySql(openDatabase("sqlite", home));
  usage = new DatabaseUsage(sql);
});
afterEach(async () => {
  await Promise.all(shippers.splice(0).map((shipper) => shipper.close()));
  await sql.close();
  rmSync(home, { recursive: true, force: true });
  vi.clearAllMocks();
});

/** A journal and what sends it on, by hand where `shipMs` is long. */
function opened(settings: Partial<ShipperSettings> = {}) {
  const journal: Journal = new Journal({ directory, log, onWrite: () => shipper.notice() });
  const shipper = new Shipper({ directory, usage, log, journal, shipMs: 3_600_000, ...settings });
  shippers.push(shipper);
  return { journal, shipper };
}

const files = () => readdirSync(directory).filter((name) => name.endsWith(".journal"));

const linesIn = (name: string) =>
  readFileSync(join(directory, name), "utf8")
    .split("\n")
    .filter((line) => line !== "");

async function counted(): Promise<number | undefined> {
  sql.state = "there";
  const [sums] = await usage.totals([]);
  return sums?.calls;
}

test("records of calls that end together are one write, and on the disk when it says so", async () => {
  const { journal } = opened();
  const all = Array.from({ length: 50 }, (_, i) => journal.keep(record({ id: `r${i}` })));
  expect(() => files()).toThrow();
  await all[0];
  expect(files().flatMap(linesIn)).toHaveLength(50);
  await Promise.all(all);
  expect(files()).toHaveLength(1);
});

test("they arrive in the database by themselves, and their file is gone", async () => {
  const { journal } = opened({ shipMs: 5 });
  await journal.keep(record());
  await journal.keep(record());
  await vi.waitUntil(() => files().length === 0);
  await journal.keep(record());
  await vi.waitUntil(() => files().length === 0);
  expect(await counted()).toBe(3);
});

test("they arrive while others are written all the time", async () => {
  const { journal } = opened({ shipMs: 20 });
  let written = 0;
  // Never a pause as long as what they wait for.
  while (written < 2000 && (await counted()) === 0) {
    await journal.keep(record());
    written++;
  }
  expect(await counted()).toBeGreaterThan(0);
});

describe("the database is away", () => {
  test("records wait, it is said once, and nothing is lost or doubled", async () => {
    const { journal, shipper } = opened({ shipMs: 1 });
    const many = (n: number) =>
      Promise.all(Array.from({ length: n }, () => journal.keep(record())));
    await many(10);
    await vi.waitUntil(() => files().length === 0);
    sql.state = "away";
    await many(10);
    await vi.waitUntil(() => shipper.away);
    for (let i = 0; i < 5; i++) {
      await many(10);
      await shipper.ship();
    }
    expect(shipper.away).toBe(true);
    // What can be tried, and what is written to: not a file for each attempt.
    expect(files().length).toBeLessThanOrEqual(2);
    sql.state = "there";
    await shipper.ship();
    await vi.waitUntil(async () => {
      await shipper.ship();
      return files().length === 0;
    });
    expect(await counted()).toBe(70);
    expect(shipper.outages).toBe(1);
    expect(log.warn).toHaveBeenCalledTimes(1);
    expect(log.info).toHaveBeenCalledTimes(1);
  });

  test("what keeps it away is said, where that shows only later", async () => {
    const { journal, shipper } = opened();
    const because = (message: string, code?: string) => Object.assign(new Error(message), { code });
    sql.state = "away";
    await journal.keep(record());
    const gone = because("connection terminated");
    const absent = because("connect ECONNREFUSED", "ECONNREFUSED");
    const refused = because("password authentication failed", "28P01");
    for (const why of [gone, absent, refused, absent, refused]) {
      sql.why = why;
      await shipper.ship();
    }
    expect(log.warn.mock.calls).toEqual([
      [{ error: "away: connection terminated" }, expect.stringMatching(/is away/)],
      [{ error: expect.stringMatching(/password/) }, "the database of usage is still away"],
    ]);
    expect(shipper.outages).toBe(1);
  });

  test("what it did without saying so is not done twice", async () => {
    const { journal, shipper } = opened();
    await Promise.all(Array.from({ length: 1200 }, () => journal.keep(record())));
    sql.state = "deaf";
    await shipper.ship();
    expect(files()).toHaveLength(1);
    expect(await counted()).toBe(500);
    await shipper.ship();
    expect(await counted()).toBe(1200);
  });

  test("away at the end: the records are there for the next start", async () => {
    const { journal, shipper } = opened();
    sql.state = "away";
    await journal.keep(record());
    await shipper.close();
    expect(files()).toHaveLength(1);
    // Of this process, which lives. As if it had been another:
    const [name = ""] = files();
    const dead = name.replace(`.${process.pid}.`, ".999999999.").replace(/\.[0-9a-f]{12}\./, ".x.");
    renameSync(join(directory, name), join(directory, dead));
    expect(await counted()).toBe(0);
    await opened().shipper.start();
    expect(await counted()).toBe(1);
  });

  test("the room on the disk is bounded: records wait in memory then, and that is said", async () => {
    const { journal, shipper } = opened({ maxBytes: 1000 });
    sql.state = "away";
    await Promise.all(Array.from({ length: 10 }, () => journal.keep(record())));
    await shipper.ship();
    await journal.keep(record());
    expect([journal.failing, journal.held.size]).toEqual([true, 1]);
    const waiting = files().reduce((sum, name) => sum + statSync(join(directory, name)).size, 0);
    expect(waiting).toBeGreaterThan(1000);
    expect([shipper.waitingBytes, shipper.mostWaitingBytes]).toEqual([waiting, 1000]);
    expect(log.error).toHaveBeenCalledTimes(1);
    sql.state = "there";
    await shipper.ship();
    expect([await counted(), journal.held.size]).toEqual([11, 0]);
    expect(shipper.waitingBytes).toBe(0);
    journal.retry();
    expect(journal.failing).toBe(false);
  });
});

test("all that was written before is there once that is asked for, also in the middle of sending", async () => {
  const { journal, shipper } = opened();
  await journal.keep(record());
  const flushed = new Promise<number | undefined>((resolve, reject) => {
    sql.meanwhile = async () => {
      await journal.keep(record());
      shipper.flush().then(counted).then(resolve, reject);
    };
  });
  await shipper.ship();
  expect(await flushed).toBe(2);
});

test("a database that hangs does not hold up the end, and nothing is lost", async () => {
  const { journal, shipper } = opened({ closeMs: 1 });
  sql.state = "hanging";
  await journal.keep(record({ id: "sent" }));
  void shipper.ship();
  await vi.waitUntil(() => sql.asked > 0);
  await journal.keep(record({ id: "written meanwhile" }));
  await shipper.close();
  expect(files().flatMap(linesIn)).toHaveLength(2);
});

test("a full or broken disk does not hold calls up", async () => {
  writeFileSync(directory, "a file where the folder should be");
  const clock = new FakeClock();
  const journal = new Journal({ directory, log, clock });
  await Promise.all([journal.keep(record()), journal.keep(record())]);
  await journal.keep(record());
  expect(journal.held.size).toBe(3);
  expect(log.error).toHaveBeenCalledTimes(1);
  rmSync(directory);
  await clock.advance(1000);
  expect([journal.held.size, journal.lostTotal]).toEqual([0, 0]);
  expect(files().flatMap(linesIn)).toHaveLength(3);
});

test("a folder that can't be read holds nothing up, and its records arrive later", async () => {
  const { journal, shipper } = opened();
  writeFileSync(directory, "a file where the folder should be");
  await shipper.ship();
  await shipper.ship();
  expect(shipper.away).toBe(true);
  expect(log.warn).toHaveBeenCalledTimes(1);
  expect(log.warn).toHaveBeenCalledWith(
    { error: expect.stringContaining("ENOTDIR") },
    expect.stringContaining("the folder of usage can't be read"),
  );
  rmSync(directory);
  await journal.keep(record());
  await shipper.ship();
  expect([shipper.away, await counted()]).toEqual([false, 1]);
  expect(log.info).toHaveBeenCalledWith({}, "the folder of usage is back");
});

test("a record that the database does not take is put aside, the others go on", async () => {
  const { journal, shipper } = opened();
  await journal.keep(record({ id: "bad", caller: null as unknown as string }));
  await journal.keep(record({ id: "good" }));
  await shipper.ship();
  expect(await counted()).toBe(1);
  expect(files()).toEqual([]);
  expect(linesIn("refused.jsonl").map((line) => JSON.parse(line)[0])).toEqual(["bad"]);
  // Who called is nobody else's business, here either.
  expect(statSync(join(directory, "refused.jsonl")).mode & 0o777).toBe(0o600);
  expect(log.error).toHaveBeenCalledTimes(1);
});

test("records that were put aside are tried again once their file is named as others are", async () => {
  const { shipper } = opened();
  mkdirSync(directory, { recursive: true });
  const path = join(directory, "refused.journal");
  writeFileSync(path, `${linesOf(record()).join("\n")}\n`);
  const time = new Date(Date.now() - 121_000);
  utimesSync(path, time, time);
  await shipper.ship();
  expect([await counted(), files()]).toEqual([1, []]);
});

describe("what other processes left", () => {
  const host = hostname().replace(/[^\w-]/g, "_");
  const leave = (owner: string, ageMs = 0) => {
    mkdirSync(directory, { recursive: true });
    const path = join(directory, `${owner}.abc.0000000000.journal`);
    writeFileSync(path, `${linesOf(record())}\n["half`);
    const time = new Date(Date.now() - ageMs);
    utimesSync(path, time, time);
  };

  test.each<[string, string, number, number]>([
    ["a process of this machine that is gone", `${host}.999999999`, 0, 1],
    ["an earlier process with this one's id, as in a container", `${host}.${process.pid}`, 0, 1],
    ["a process that lives", `${host}.${process.ppid}`, 60_000, 0],
    ["another machine's that lives", "elsewhere.999999999", 60_000, 0],
    ["another machine's that gave no sign for long", "elsewhere.1", 121_000, 1],
  ])("%s", async (_what, owner, ageMs, expected) => {
    leave(owner, ageMs);
    const { shipper } = opened();
    await shipper.start();
    expect(await counted()).toBe(expected);
    expect(files()).toHaveLength(1 - expected);
  });

  test("one file that can't be read does not hold up the others, and is tried again", async () => {
    // A folder: also root can't read that.
    const stuck = `${host}.999999999.abc.0000000000.journal`;
    mkdirSync(join(directory, stuck), { recursive: true });
    const { journal, shipper } = opened({ maxBytes: 1 });
    await journal.keep(record());
    await shipper.ship();
    await shipper.ship();
    const [taken = ""] = files();
    expect([shipper.away, files()]).toEqual([false, [taken]]);
    expect(log.warn).toHaveBeenCalledTimes(1);
    expect(log.warn).toHaveBeenCalledWith(
      { file: taken, error: expect.stringContaining("EISDIR") },
      expect.stringContaining("can't be sent"),
    );
    // It counts as what waits.
    await journal.keep(record());
    expect(journal.held.size).toBe(1);
    rmSync(join(directory, taken), { recursive: true });
    leave(`${host}.999999999`);
    await shipper.ship();
    expect([await counted(), files()]).toEqual([3, []]);
    journal.retry();
    expect(journal.failing).toBe(false);
  });

  test("one file that can't be read counts as what waits until somebody takes it away", async () => {
    leave("elsewhere.1");
    const { shipper } = opened();
    const stuck = join(directory, `${host}.999999999.abc.0000000001.journal`);
    mkdirSync(stuck);
    await shipper.ship();
    expect(shipper.waitingBytes).toBeGreaterThan(0);
    const taken = files().find((name) => name.startsWith(`${host}.`)) ?? "";
    rmSync(join(directory, taken), { recursive: true });
    await shipper.ship();
    // What another process still writes waits for nothing.
    expect([files().length, shipper.waitingBytes]).toEqual([1, 0]);
  });

  test("the oldest go first, and one that another gateway took meanwhile is none that is stuck", async () => {
    leave("a.1", 130_000);
    leave("b.1", 140_000);
    const waiting = new WaitingFiles({ directory, usage, log });
    const names = await waiting.names();
    expect(names.map((name) => name.charAt(0))).toEqual(["b", "a"]);
    rmSync(join(directory, names[0] ?? ""));
    for (const name of names) await waiting.send(name);
    expect([waiting.stuck, await counted(), files()]).toEqual([false, 1, []]);
    expect(log.warn.mock.calls.filter(([, words]) => words.includes("can't be sent"))).toEqual([]);
  });

  test("one that slept so long that its file was taken over writes to a new one", async () => {
    const { journal } = opened();
    await journal.keep(record());
    rmSync(join(directory, files()[0] ?? ""));
    journal.touch();
    await journal.keep(record());
    expect(files()).toHaveLength(1);
  });

  test("one that is taken for dead, and writes on, loses nothing", async () => {
    const { journal, shipper } = opened();
    await journal.keep(record());
    // As in two containers with one host name: a process of the same id, and not this one.
    vi.resetModules();
    const { Shipper: Another } = await import("../../src/state/journal/shipper.js");
    sql.meanwhile = () => journal.keep(record());
    await new Another({ directory, usage, log }).close();
    await journal.keep(record());
    await shipper.ship();
    expect([await counted(), files()]).toEqual([3, []]);
  });
});

describe("old records", () => {
  const hour = 3_600_000;
  /** Keeps records for a hundred days; `pass` lets time pass, sets the clock by more, and ships. */
  const keeping = async () => {
    const time = { now: 0, wall: Date.UTC(2026, 5, 1) };
    const clock = { now: () => time.now, wall: () => time.wall };
    await usage.insert(linesOf(record({ at: time.wall - hour })));
    await usage.insert(linesOf(record({ at: time.wall - 2401 * hour })));
    const { journal, shipper } = opened({ retentionMs: 2400 * hour, clock });
    return async (ms: number, more = 0) => {
      time.now += ms;
      time.wall += ms + more;
      await journal.keep(record({ at: time.wall }));
      await shipper.ship();
      return counted();
    };
  };

  test("are deleted from time to time", async () => {
    const pass = await keeping();
    expect(await pass(1000)).toBe(2);
    await usage.insert(linesOf(record({ at: 0 })));
    expect(await pass(1000)).toBe(4);
    expect(await pass(hour)).toBe(4);
  });

  test("are deleted five minutes after that failed, and not with each record before", async () => {
    const pass = await keeping();
    const purge = vi.spyOn(usage, "purge").mockRejectedValueOnce(new DatabaseAway("away"));
    expect(await pass(1000)).toBe(3);
    // Nothing is left that would have to wait.
    expect(await pass(299_000)).toBe(4);
    expect(purge).toHaveBeenCalledTimes(1);
    expect(await pass(1000)).toBe(4);
    expect(purge).toHaveBeenCalledTimes(2);
    expect(await pass(hour - 1000)).toBe(5);
    expect(purge).toHaveBeenCalledTimes(2);
  });

  test("are kept for a day after the clock was set, and no longer", async () => {
    const pass = await keeping();
    expect(await pass(1000)).toBe(2);
    expect(await pass(hour, 87_600 * hour)).toBe(3);
    expect(await pass(23 * hour)).toBe(4);
    expect(log.warn).toHaveBeenCalledTimes(1);
    expect(log.warn).toHaveBeenCalledWith(
      { byMs: 87_600 * hour },
      expect.stringContaining("no old usage is deleted"),
    );
    // Set right.
    expect(await pass(hour, -87_600 * hour)).toBe(5);
    expect(log.warn).toHaveBeenCalledTimes(2);
    await usage.insert(linesOf(record({ at: 0 })));
    expect(await pass(23 * hour)).toBe(7);
    // One more, one less.
    expect(await pass(hour)).toBe(7);
  });

  test("go where a clock runs a little fast or slow", async () => {
    const pass = await keeping();
    await usage.insert(linesOf(record({ at: 0 })));
    expect(await pass(hour, hour / 2)).toBe(2);
    expect(log.warn).not.toHaveBeenCalled();
  });
});
