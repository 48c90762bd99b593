/**
 * One gateway, with workers or without, under calls of every kind while what it leans on fails and comes back:
 * PostgreSQL, Redis, the bucket of its images, a full disk, its workers, reloads. At the end its
 * books have to be right: each answer that a client has whole is in the records once, budgets are
 * the sums of these, nothing runs or waits any more, no handle is left, and the log has no error
 * but those of what failed. Run by `npm run faults:books`, with workers by `-- --workers 2`.
 */
import { randomUUID } from "node:crypto";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setTimeout as pause } from "node:timers/promises";
import { parseArgs } from "node:util";
import pg from "pg";
import { startPostgres } from "../support/postgres.js";
import { startRedis } from "../support/redis.js";
import { startBucket } from "./bucket.js";
import { kindsOf } from "./kinds.js";
import { startTarget } from "./processes.js";
import { startWatched } from "./watched.js";

const { values } = parseArgs({
  options: {
    callers: { type: "string", default: "8" },
    /** Of each phase. */
    seconds: { type: "string", default: "4" },
    workers: { type: "string", default: "1" },
    /** A folder on a small file system of its own, which is filled; absent: no disk is full. */
    disk: { type: "string" },
  },
});
const workers = Number(values.workers);
const home = mkdtempSync(join(tmpdir(), "lintel-books-"));
const state = values.disk ?? join(home, "state");
const postgres = await startPostgres();
const redis = workers > 1 ? await startRedis({ args: ["--appendonly", "yes"] }) : undefined;
const targets = await Promise.all([startTarget(), startTarget()]);

const bucket = await startBucket();

const config = join(home, "lintel.yaml");
const amount = 1_000_000;
const configure = (price: number) =>
  writeFileSync(
    config,
    `auth: { mode: none }
log: { level: info }
max_connection_age: 3s
${workers > 1 ? `workers: ${workers}` : ""}
state:
  directory: ${state}
  database: "${postgres.url}"
${redis ? `  redis: { url: "${redis.url}" }` : ""}
limits: { global: { concurrent: 500, budget: { amount: ${amount}, period: month } } }
prices: [{ model: "*", input: 1000, output: ${price}, image: 1 }]
routing: { affinity: conversation }
media: { store: s3, ttl: 10m, s3: { bucket: pictures, endpoint: "${bucket.url}", access_key_id: a, secret_access_key: b } }
idempotency: { max_bytes: 1MiB }
telemetry: { prometheus: true, top: false }
models: [{ name: shared, targets: [{ backend: t0, model: chat }, { backend: t1, model: chat }] }]
backends:
  - { type: openai, name: t0, url: "${targets[0]?.url}", dialect: localai, image_models: [image] }
  - { type: openai, name: t1, url: "${targets[1]?.url}", models: [chat] }
${workers > 1 ? "" : "  - { type: embedded, name: embedded }"}
`,
  );
configure(2000);

const gateway = await startWatched(config, home, workers);
const { url, pid, processes } = gateway;

interface Call {
  readonly id: string;
  readonly kind: string;
  readonly during: string;
  outcome: string;
}
const calls: Call[] = [];
let phase = "";
let running = true;

async function caller(number: number): Promise<void> {
  const kinds = kindsOf(
    url,
    `caller-${number}`,
    workers === 1 && number === 0 ? "lintel-chat" : undefined,
  );
  for (let i = number; running; i++) {
    const [kind, ask] = kinds[i % kinds.length] as (typeof kinds)[number];
    const call: Call = { id: randomUUID(), kind, during: phase, outcome: "" };
    calls.push(call);
    call.outcome = await ask(call.id).catch((error: Error) =>
      // What connect-node does with a call that it is about to send on a connection that becomes old.
      error.message.includes("REFUSED_STREAM") ? "not sent" : `lost: ${error.message}`,
    );
    await pause(10);
  }
}

const big = join(state, "full");
const fill = () => {
  const some = Buffer.alloc(64 * 1024);
  try {
    for (;;) writeFileSync(big, some, { flag: "a" });
  } catch {}
  try {
    for (;;) writeFileSync(big, "x", { flag: "a" });
  } catch {}
};
const reload = async () => {
  for (let i = 0; i < 4; i++) {
    configure(2000 + (i % 2));
    process.kill(pid, "SIGHUP");
    await pause(400);
  }
};
const nothing = async () => {};
type Fault = readonly [string, () => unknown, () => unknown];
const faults: Fault[] = [
  ["nothing", nothing, nothing],
  ["PostgreSQL", postgres.kill, postgres.start],
  [
    "S3",
    () => {
      bucket.mood = "away";
    },
    () => {
      bucket.mood = "well";
    },
  ],
  ["reloads", reload, nothing],
];
if (redis) {
  faults.push(["Redis", redis.kill, redis.start]);
  faults.push([
    "a killed worker",
    () => process.kill(processes()[0] as number, "SIGKILL"),
    nothing,
  ]);
  faults.push([
    "a replaced worker",
    () => process.kill(processes()[0] as number, "SIGTERM"),
    nothing,
  ]);
}
if (values.disk) {
  faults.push(["full disk", fill, () => rmSync(big)]);
  faults.push([
    "full disk and PostgreSQL",
    async () => {
      fill();
      await postgres.kill();
    },
    async () => {
      rmSync(big);
      await postgres.start();
    },
  ]);
}
faults.push(["nothing, again", nothing, nothing]);

const ms = Number(values.seconds) * 1000;
for (const [name, begin, end] of faults) {
  running = true;
  phase = name;
  const all = Array.from({ length: Number(values.callers) }, (_, i) => caller(i));
  await pause(ms / 4);
  await begin();
  await pause(ms);
  await end();
  phase = `${name}, over`;
  await pause(ms);
  running = false;
  await Promise.all(all);
  await pause(500);
  console.log(`${String(calls.length).padStart(6)} calls, ${name}: ${await gateway.look()}`);
}
// Leases of calls that ran in a killed worker end by themselves.
if (redis) await pause(31_000);

const wrong: string[] = [];
const metrics = await (await fetch(`${url}/metrics`)).text();
const expectAll = (name: string, expected: number) => {
  const found = [...metrics.matchAll(new RegExp(`^${name}(?:\\{[^}]*\\})? (\\S+)$`, "gm"))];
  if (found.length === 0) wrong.push(`no metric ${name}`);
  for (const [line, value] of found) {
    if (Number(value) !== expected) wrong.push(`not ${expected}: ${line}`);
  }
};
for (const name of ["requests_active", "target_active", "target_waiting"])
  expectAll(`lintel_${name}`, 0);
for (const name of ["unwritten", "waiting_bytes", "lost_total"])
  expectAll(`lintel_usage_${name}`, 0);
expectAll("lintel_store_available", 1);
const { limits } = (await (await fetch(`${url}/account`)).json()) as {
  limits: { quantity: string; limit: number; remaining: number }[];
};
const used = (quantity: string) => {
  const { limit = 0, remaining = 0 } = limits.find((one) => one.quantity === quantity) ?? {};
  return limit - remaining;
};
if (used("concurrent") !== 0) wrong.push(`${used("concurrent")} calls are held to run`);
const status = await gateway.stop();
if (status !== 0) wrong.push(`the gateway ended with ${status}`);

const client = new pg.Client(postgres.url);
await client.connect();
const { rows } = await client.query<{ request_id: string; outcome: string; spend: string }>(
  "SELECT request_id, outcome, spend FROM lintel_usage",
);
await client.end();
const spent = rows.reduce((sum, { spend }) => sum + Number(spend ?? 0), 0) / 1e9;
const difference = used("spend") - spent;
console.log(`spent by the records ${spent}, by the budget ${difference.toFixed(6)} more`);
// What calls of a killed worker had reserved counts until the budget's period ends.
if (difference < -1e-6 || (!redis && difference > 1e-6)) wrong.push("the budget is not their sum");

const records = new Map<string, string[]>();
for (const { request_id, outcome } of rows)
  records.set(request_id, [...(records.get(request_id) ?? []), outcome]);
const ended = new Map<string, number>();
const count = (key: string) => ended.set(key, (ended.get(key) ?? 0) + 1);
for (const { id, kind, during, outcome } of calls) {
  const recorded = records.get(id)?.join(" and ") ?? "no record";
  count(`${kind}: ${outcome}, ${recorded}`);
  const alike =
    outcome === recorded ||
    (outcome === "left" && ["ok", "cancelled"].includes(recorded)) ||
    (outcome === "not sent" && recorded === "no record") ||
    (outcome.startsWith("lost") && during.includes("worker") && !recorded.includes(" and "));
  if (!alike) wrong.push(`${kind} during ${during}: ${outcome}, ${recorded}`);
}
for (const [key, n] of [...ended].sort()) console.log(String(n).padStart(6), key);
const told = new Map<string, number>();
for (const line of gateway.log()) {
  // What is no JSON, Node wrote: something was not caught.
  const { level, msg } = line.startsWith("{") ? JSON.parse(line) : { level: 60, msg: line };
  if (level >= 40) told.set(`${level} ${msg}`, (told.get(`${level} ${msg}`) ?? 0) + 1);
}
for (const [line, n] of told) console.log(String(n).padStart(6), line);
const expected = [
  "50 a worker ended: it is started again",
  "50 usage can't be written to the disk; records wait in memory for it, or for the database",
];
for (const line of told.keys())
  if (!line.startsWith("40") && !expected.includes(line)) wrong.push(`the log: ${line}`);
for (const one of targets) await one.kill();
await redis?.close();
await postgres.remove();
bucket.close();
rmSync(home, { recursive: true });
for (const line of wrong) console.error(`WRONG: ${line}`);
process.exit(wrong.length > 0 ? 1 : 0);
