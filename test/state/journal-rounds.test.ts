/** When the journal's shipper sends. */
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect, onTestFinished, test, vi } from "vitest";
import { silent } from "../../src/core/log.js";
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

/** A journal whose records are sent a second after they are noticed; a database that is away. */
function opened() {
  const directory = mkdtempSync(join(tmpdir(), "lintel-rounds-"));
  const journal = new Journal({ directory, log: silent });
  const usage = new DatabaseUsage(away);
  const shipper = new Shipper({ directory, usage, log: silent, journal, shipMs: 500 });
  const ship = vi.spyOn(shipper, "ship");
  vi.useFakeTimers({ toFake: ["setTimeout", "clearTimeout", "performance"] });
  onTestFinished(() => {
    vi.useRealTimers();
    journal.end();
    journal.seal();
    rmSync(directory, { recursive: true, force: true });
  });
  return { journal, shipper, ship };
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
