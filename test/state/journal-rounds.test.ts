/** When the journal's shipper sends. */
import { mkdtempSync, readdirSync, rmSync, statSync, utimesSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect, onTestFinished, test, vi } from "vitest";
import { silent } from "../../src/core/log.js";
import { openDatabase } from "../../src/state/database/open.js";
import { DatabaseAway, type Sql } from "../../src/state/database/sql.js";
import { DatabaseUsage } from "../../src/state/database/usage.js";
import { Journal } from "../../src/state/journal/journal.js";
import { Shipper } from "../../src/state/journal/shipper.js";
import { record } from "./record.js";

const away: Sql = {
  kind: "sqlite",
  run: async () => Promise.reject(new DatabaseAway("away")),
  insert: async () => Promise.reject(new DatabaseAway("away")),
  close: async () => {},
};

function folder(): string {
  const directory = mkdtempSync(join(tmpdir(), "lintel-rounds-"));
  onTestFinished(() => rmSync(directory, { recursive: true, force: true }));
  return directory;
}

/** A journal whose records are sent half a second after they are noticed; a database that is away. */
function opened() {
  const directory = folder();
  const journal = new Journal({ directory, log: silent });
  const usage = new DatabaseUsage(away);
  const shipper = new Shipper({ directory, usage, log: silent, journal, shipMs: 500 });
  const ship = vi.spyOn(shipper, "ship");
  vi.useFakeTimers({ toFake: ["setTimeout", "clearTimeout", "performance"] });
  onTestFinished(() => {
    vi.useRealTimers();
    journal.end();
    journal.seal();
  });
  return { directory, journal, shipper, ship };
}

/** A journal, and a database to which something happens while it is first written to. */
function sending(meanwhile: (journal: Journal, shipper: Shipper) => Promise<unknown>) {
  const directory = folder();
  const real = openDatabase("sqlite", directory);
  let first = true;
  const sql: Sql = {
    kind: "sqlite",
    run: (statements) => real.run(statements),
    async insert(insertion) {
      if (first) {
        first = false;
        await meanwhile(journal, shipper);
      }
      return real.insert(insertion);
    },
    close: () => real.close(),
  };
  const usage = new DatabaseUsage(sql);
  const journal: Journal = new Journal({ directory, log: silent, onWrite: () => shipper.notice() });
  const shipper: Shipper = new Shipper({ directory, usage, log: silent, journal, shipMs: 5 });
  onTestFinished(async () => {
    await shipper.close();
    await sql.close();
  });
  const files = () => readdirSync(directory).filter((name) => name.endsWith(".journal"));
  return { journal, shipper, files, counted: async () => (await usage.totals([]))[0]?.calls };
}

test("records that come all the time do not put those before them off", () => {
  const { shipper, ship } = opened();
  for (let i = 0; i < 5; i++) {
    shipper.notice();
    vi.advanceTimersByTime(100);
  }
  expect(ship).toHaveBeenCalledTimes(1);
});

test("a database that is away is not asked for each record that comes", async () => {
  const { journal, shipper, ship } = opened();
  await journal.keep(record());
  await shipper.ship();
  expect(shipper.away).toBe(true);
  ship.mockClear();
  shipper.notice();
  vi.advanceTimersByTime(500);
  expect(ship).not.toHaveBeenCalled();
  vi.advanceTimersByTime(500);
  expect(ship).toHaveBeenCalledTimes(1);
});

test("while it is away, others see that the file that is written to has an owner who lives", async () => {
  const { directory, journal, shipper } = opened();
  await journal.keep(record());
  await shipper.ship();
  await journal.keep(record());
  const path = join(directory, journal.current ?? "");
  utimesSync(path, 1, 1);
  await shipper.ship();
  expect(statSync(path).mtimeMs).toBeGreaterThan(1e12);
});

test("records that are written while others are sent follow by themselves", async () => {
  const { journal, files, counted } = sending((journal) => journal.keep(record()));
  await journal.keep(record());
  // Orphans are looked for each minute.
  await vi.waitUntil(() => files().length === 0, { timeout: 30_000 });
  expect(await counted()).toBe(2);
});

test("records that are written while others are sent are sent at the end", async () => {
  let closed: Promise<void> | undefined;
  const { journal, shipper, files, counted } = sending(async (journal, shipper) => {
    await journal.keep(record());
    closed = shipper.close();
  });
  await journal.keep(record());
  await shipper.ship();
  await closed;
  expect([await counted(), files()]).toEqual([2, []]);
});
