/**
 * What a record of usage costs SQLite's thread by how many rows a statement inserts, in turns: from
 * lines of the journal to committed rows. Run by `npx tsx bench/rows.ts`; prints CPU microseconds of a row.
 */
import { randomBytes } from "node:crypto";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { missing } from "../src/state/database/migrations.js";
import { insertions } from "../src/state/database/sqlite-insert.js";
import { openSqlite } from "../src/state/database/sqlite-library.js";
import { columns, lineOf } from "../src/state/database/usage-line.js";
import { record } from "../test/state/record.js";
import { median } from "./targets.js";

const sizes = [1, 5, 10, 25, 50, 100];
const rounds = 7;
/** Of rows, as the shipper sends them. */
const batch = 500;
const batches = 40;

const folder = mkdtempSync(join(tmpdir(), "lintel-bench-"));
const into = { table: "lintel_usage", columns };

function lines(): string[] {
  const times = { durationMs: 1.25, firstMs: 1.2, spend: 120_000 };
  return Array.from({ length: batch }, () =>
    lineOf(record({ ...times, requestId: `req_${randomBytes(16).toString("hex")}` })),
  );
}

async function measure(rows: number, name: string): Promise<number> {
  const database = await openSqlite(join(folder, name));
  database.exec("PRAGMA journal_mode = WAL");
  database.exec("PRAGMA synchronous = FULL");
  for (const { statements } of missing(0)) for (const each of statements) database.exec(each);
  const statements = new Map<string, ReturnType<typeof database.prepare>>();
  const all = Array.from({ length: batches }, lines);
  const before = process.cpuUsage();
  for (const some of all) {
    database.exec("BEGIN IMMEDIATE");
    for (const { text, values } of insertions({ ...into, lines: some.join("\n") }, rows)) {
      const statement = statements.get(text) ?? database.prepare(text);
      statements.set(text, statement);
      statement.run(...values);
    }
    database.exec("COMMIT");
  }
  const { user, system } = process.cpuUsage(before);
  const [found] = database.prepare("SELECT COUNT(*) AS rows FROM lintel_usage").all();
  if (Number(found?.rows) !== batch * batches) throw new Error(`${rows} at once: rows are missing`);
  database.close();
  return (user + system) / (batch * batches);
}

try {
  const times = sizes.map((): number[] => []);
  // The first is warm-up.
  for (let round = 0; round <= rounds; round++) {
    for (const [i, rows] of sizes.entries()) {
      const each = await measure(rows, `${round}-${rows}`);
      if (round > 0) times[i]?.push(each);
    }
  }
  for (const [i, rows] of sizes.entries()) {
    const each = times[i] ?? [];
    const spread = `${Math.min(...each).toFixed(2)}–${Math.max(...each).toFixed(2)}`;
    console.log(`${String(rows).padStart(3)} at once: ${median(each).toFixed(2)} µs (${spread})`);
  }
} finally {
  rmSync(folder, { recursive: true, force: true });
}
