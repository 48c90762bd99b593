/** The journal on a disk that has no room. */
import { mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, expect, test, vi } from "vitest";
import { silent } from "../../src/core/log.js";
import { DatabaseAway, type Sql } from "../../src/state/database/sql.js";
import { DatabaseUsage } from "../../src/state/database/usage.js";
import { Journal } from "../../src/state/journal/journal.js";
import { segmentName } from "../../src/state/journal/segment.js";
import { Shipper } from "../../src/state/journal/shipper.js";
import { record } from "./record.js";

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

const log = { ...silent, warn: vi.fn(), error: vi.fn() };
const away: Sql = {
  kind: "sqlite",
  run: async () => Promise.reject(new DatabaseAway("away")),
  insert: async () => Promise.reject(new DatabaseAway("away")),
  close: async () => {},
};
let directory: string;
let now: number;
beforeEach(() => {
  directory = mkdtempSync(join(tmpdir(), "lintel-disk-"));
  now = 0;
  disk.room = Number.POSITIVE_INFINITY;
  disk.asked = 0;
});
afterEach(() => {
  rmSync(directory, { recursive: true, force: true });
  vi.clearAllMocks();
});

const opened = () => new Journal({ directory, log, now: () => now });
const texts = () =>
  readdirSync(directory).map((name) => readFileSync(join(directory, name), "utf8"));

test("a full disk is tried once a second, and gets no empty files", async () => {
  const journal = opened();
  disk.room = 0;
  for (let i = 0; i < 50; i++) await journal.keep(record());
  expect([disk.asked, texts()]).toEqual([1, []]);
  now = 1000;
  await journal.keep(record());
  expect([disk.asked, texts()]).toEqual([2, []]);
  disk.room = Number.POSITIVE_INFINITY;
  now = 2000;
  await journal.keep(record());
  expect([journal.lost, journal.lostTotal, texts().length]).toEqual([0, 51, 1]);
});

test("of a write that the disk takes in part nothing stays", async () => {
  const journal = opened();
  await journal.keep(record({ id: "whole" }));
  disk.room = 20;
  await journal.keep(record({ id: "half" }));
  expect(texts()).toEqual([expect.stringMatching(/^{"id":"whole".*\}\n$/)]);
  expect([journal.lost, journal.current]).toEqual([1, undefined]);
});

test("empty files go, and half a line is said once, while the database is away", async () => {
  writeFileSync(join(directory, segmentName(7)), "");
  writeFileSync(join(directory, segmentName(8)), '{"id":');
  const shipper = new Shipper({ directory, usage: new DatabaseUsage(away), log });
  writeFileSync(join(directory, segmentName(9)), `${JSON.stringify(record())}\n{"id":`);
  await shipper.ship();
  await shipper.ship();
  await shipper.ship();
  expect(texts()).toHaveLength(1);
  const torn = log.warn.mock.calls.filter(([, words]) => words.includes("half-written"));
  expect(torn).toHaveLength(2);
  await shipper.close();
});
