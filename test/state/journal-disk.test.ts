/** The journal on a disk that has no room. */
import { mkdtempSync, readdirSync, readFileSync, rmSync, statSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, expect, test, vi } from "vitest";
import { silent } from "../../src/core/log.js";
import { openDatabase } from "../../src/state/database/open.js";
import { DatabaseAway, type Sql } from "../../src/state/database/sql.js";
import { DatabaseUsage } from "../../src/state/database/usage.js";
import { Journal } from "../../src/state/journal/journal.js";
import { segmentName } from "../../src/state/journal/segment.js";
import { Shipper } from "../../src/state/journal/shipper.js";
import { openState } from "../../src/state/open.js";
import { FakeClock } from "../support/clock.js";
import { linesOf, record } from "./record.js";

/** How many bytes fit on the disk. */
const disk = vi.hoisted(() => ({ room: Number.POSITIVE_INFINITY, asked: 0 }));

vi.mock("node:fs", async (original) => {
  const fs = await original<typeof import("node:fs")>();
  return {
    ...fs,
    writeSync(fd: number, bytes: Buffer, from: number) {
      disk.asked++;
      if (disk.room === 0) throw Object.assign(new Error("ENOSPC"), { code: "ENOSPC" });
      const done = fs.writeSync(fd, bytes, from, Math.min(bytes.length - from, disk.room));
      disk.room -= done;
      return done;
    },
  };
});

const log = { ...silent, info: vi.fn(), warn: vi.fn(), error: vi.fn() };
const away: Sql = {
  kind: "sqlite",
  run: async () => Promise.reject(new DatabaseAway("away")),
  insert: async () => Promise.reject(new DatabaseAway("away")),
  close: async () => {},
};
let directory: string;
let clock: FakeClock;
beforeEach(() => {
  directory = mkdtempSync(join(tmpdir(), "lintel-disk-"));
  clock = new FakeClock();
  disk.room = Number.POSITIVE_INFINITY;
  disk.asked = 0;
});
afterEach(() => {
  rmSync(directory, { recursive: true, force: true });
  vi.clearAllMocks();
});

const opened = () => new Journal({ directory, log, clock });
const texts = () =>
  readdirSync(directory).map((name) => readFileSync(join(directory, name), "utf8"));
const linesOn = () => texts().flatMap((text) => text.split("\n").filter((line) => line !== ""));
const many = (journal: Journal, n: number) =>
  Promise.all(Array.from({ length: n }, () => journal.keep(record())));

test("a full disk is tried once a second, gets no empty files, and then what waited", async () => {
  const journal = opened();
  disk.room = 0;
  for (let i = 0; i < 50; i++) await journal.keep(record());
  expect([disk.asked, texts()]).toEqual([1, []]);
  await clock.advance(1000);
  await journal.keep(record());
  expect([disk.asked, texts(), journal.held.size]).toEqual([2, [], 51]);
  expect([journal.failing, journal.outages]).toEqual([true, 1]);
  disk.room = Number.POSITIVE_INFINITY;
  await clock.advance(1000);
  expect([linesOn().length, journal.held.size, journal.lostTotal]).toEqual([51, 0, 0]);
  expect([journal.failing, journal.outages, clock.timers]).toEqual([false, 1, 0]);
  expect(log.error).toHaveBeenCalledTimes(1);
  expect(log.info).toHaveBeenCalledWith({}, "usage can be written again");
});

test("what waited is told of once the disk has it", async () => {
  const onWrite = vi.fn();
  const journal = new Journal({ directory, log, clock, onWrite });
  disk.room = 0;
  await journal.keep(record());
  onWrite.mockClear();
  disk.room = Number.POSITIVE_INFINITY;
  await clock.advance(1000);
  expect([linesOn().length, onWrite.mock.calls.length]).toEqual([1, 1]);
});

test("after a megabyte another file begins; nobody else can read them", async () => {
  const journal = opened();
  await many(journal, 8000);
  await journal.keep(record());
  const files = readdirSync(directory);
  expect(files).toHaveLength(2);
  const modes = files.map((name) => statSync(join(directory, name)).mode & 0o777);
  expect(modes).toEqual([0o600, 0o600]);
});

test("that a disk has room again is seen without a call, and not before it has", async () => {
  const journal = opened();
  disk.room = 0;
  await journal.keep(record());
  // In the database meanwhile.
  journal.release(journal.held);
  disk.room = 20;
  await clock.advance(1000);
  expect(journal.failing).toBe(true);
  disk.room = Number.POSITIVE_INFINITY;
  await clock.advance(1000);
  expect([journal.failing, linesOn()]).toEqual([false, []]);
});

test("what a disk does not take goes into the database, once, and what no memory holds is lost", async () => {
  const sql = openDatabase("sqlite", directory);
  const usage = new DatabaseUsage(sql);
  const folder = join(directory, "usage");
  const journal = new Journal({ directory: folder, log, clock });
  const shipper = new Shipper({ directory: folder, usage, log, journal, shipMs: 3_600_000 });
  const counted = async () => (await usage.totals([]))[0]?.calls;
  disk.room = 0;
  await many(journal, 5);
  await shipper.ship();
  expect([journal.held.size, journal.failing, await counted()]).toEqual([0, true, 5]);
  await many(journal, 10_003);
  expect([journal.held.size, journal.lostTotal]).toEqual([10_000, 3]);
  const arriving = shipper.ship();
  disk.room = Number.POSITIVE_INFINITY;
  // On both ways.
  await clock.advance(1000);
  await arriving;
  await shipper.ship();
  expect([journal.failing, journal.held.size, await counted()]).toEqual([false, 0, 10_005]);
  expect(log.warn).toHaveBeenCalledWith({ lost: 3 }, expect.stringContaining("some was lost"));
  expect(log.error).toHaveBeenCalledTimes(2);
  // Of the next outage only what that one takes is told.
  disk.room = 0;
  await many(journal, 1);
  disk.room = Number.POSITIVE_INFINITY;
  await clock.advance(1000);
  expect(log.info).toHaveBeenLastCalledWith({}, "usage can be written again");
  await shipper.close();
  await sql.close();
});

test("what neither takes waits, and is lost with the end only", async () => {
  const journal = opened();
  const usage = new DatabaseUsage(away);
  const shipper = new Shipper({ directory, usage, log, journal, shipMs: 3_600_000 });
  disk.room = 0;
  await many(journal, 4);
  await shipper.ship();
  expect([shipper.away, journal.held.size, journal.lostTotal]).toEqual([true, 4, 0]);
  await shipper.close();
  expect([journal.held.size, journal.lostTotal, clock.timers]).toEqual([0, 4, 0]);
  expect(log.error).toHaveBeenCalledWith({ lost: 4 }, expect.stringContaining("records are lost"));
});

test("a record that comes in the moment in which the disk takes the others, and is full again, stays", async () => {
  const journal = opened();
  disk.room = 0;
  // Enough for a file of its own, which is ended then, and with it whatever else waits.
  await many(journal, 4000);
  disk.room = [...journal.held].reduce((sum, line) => sum + Buffer.byteLength(line) + 1, 0);
  const late = journal.keep(record());
  journal.retry();
  await late;
  disk.room = Number.POSITIVE_INFINITY;
  await clock.advance(1000);
  expect(linesOn()).toHaveLength(4001);
  expect(journal.lostTotal).toBe(0);
  journal.seal();
});

test("at the end a disk is tried once more", async () => {
  const journal = opened();
  const usage = new DatabaseUsage(away);
  const shipper = new Shipper({ directory, usage, log, journal, shipMs: 3_600_000 });
  disk.room = 0;
  await many(journal, 4);
  disk.room = Number.POSITIVE_INFINITY;
  await shipper.close();
  expect([linesOn().length, journal.lostTotal]).toEqual([4, 0]);
});

test("a gateway tells of it, and of an outage", async () => {
  const settings = { directory, database: "sqlite", usage: { retentionMs: 1e9, maxBytes: 1e9 } };
  const state = await openState(settings, log);
  disk.room = 0;
  await state.usage?.keep(record());
  expect(state.usage).toMatchObject({ away: true, outages: 1, unwritten: 1, lostTotal: 0 });
  disk.room = Number.POSITIVE_INFINITY;
  await state.close();
  expect(state.usage).toMatchObject({ away: false, outages: 1, unwritten: 0, lostTotal: 0 });
});

test("of a write that the disk takes in part nothing stays", async () => {
  const journal = opened();
  await journal.keep(record({ id: "whole" }));
  disk.room = 20;
  await journal.keep(record({ id: "half" }));
  expect(texts()).toEqual([expect.stringMatching(/^\["whole".*\]\n$/)]);
  expect([journal.held.size, journal.current]).toEqual([1, undefined]);
});

test("empty files go, and half a line is said once, while the database is away", async () => {
  writeFileSync(join(directory, segmentName(7)), "");
  writeFileSync(join(directory, segmentName(8)), '{"id":');
  const shipper = new Shipper({ directory, usage: new DatabaseUsage(away), log });
  writeFileSync(join(directory, segmentName(9)), `${linesOf(record())}\n["`);
  await shipper.ship();
  await shipper.ship();
  await shipper.ship();
  expect(texts()).toHaveLength(1);
  const torn = log.warn.mock.calls.filter(([, words]) => words.includes("half-written"));
  expect(torn).toHaveLength(2);
  await shipper.close();
});
