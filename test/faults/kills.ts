/**
 * Two gateways over Redis, PostgreSQL and two model servers, under load while each
 * of them is killed with -9 and comes back. Prints what callers saw, then holds
 * it against the records of calls: an answer that is missing there, or a call
 * that is there twice, is a failure. Run by `npm run faults`.
 */
import { randomUUID } from "node:crypto";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setTimeout as pause } from "node:timers/promises";
import { parseArgs } from "node:util";
import pg from "pg";
import { noPostgres, startPostgres } from "../support/postgres.js";
import { redisBinary, startRedis } from "../support/redis.js";
import { type Running, startGateway, startTarget } from "./processes.js";

const { values } = parseArgs({
  options: {
    callers: { type: "string", default: "16" },
    /** Of each of the nine phases. */
    seconds: { type: "string", default: "5" },
  },
});
if (!redisBinary || noPostgres) throw new Error(noPostgres ?? "this needs redis-server");

/** A call that was answered whole, or might have been. */
interface Asked {
  readonly id: string;
  readonly key: string | undefined;
  complete: boolean;
}

const asked: Asked[] = [];
/** What callers saw, by phase. */
const seen = new Map<string, Map<string, number>>();
let phase = "";
let running = true;

async function ask(url: string, stream: boolean, key: string | undefined): Promise<Asked> {
  const call: Asked = { id: randomUUID(), key, complete: false };
  asked.push(call);
  const during = phase;
  let what: string;
  try {
    const answer = await fetch(`${url}/llm`, {
      method: "POST",
      headers: {
        "content-type": "application/json",
        "x-request-id": call.id,
        ...(key && { "idempotency-key": key }),
      },
      body: JSON.stringify({ model: "chat", stream, messages: [{ role: "user", content: "Hi" }] }),
      signal: AbortSignal.timeout(20_000),
    });
    const text = await answer.text();
    const whole = !stream || (text.includes('"stop"') && !/"error"/.test(text));
    call.complete = answer.ok && whole && answer.headers.get("idempotent-replayed") === null;
    what = !answer.ok ? `${answer.status}` : whole ? "answered" : "broken off";
  } catch {
    what = "connection lost";
  }
  const counts = seen.get(during) ?? new Map<string, number>();
  seen.set(during, counts.set(what, (counts.get(what) ?? 0) + 1));
  return call;
}

/** Asks at one gateway, and again at the other one if that fails, with the same key. */
async function caller(urls: readonly string[], number: number): Promise<void> {
  for (let i = number; running; i++) {
    const key = i % 2 === 0 ? randomUUID() : undefined;
    const stream = i % 4 < 2;
    const first = await ask(urls[i % 2] as string, stream, key);
    if (!first.complete && key) await ask(urls[(i + 1) % 2] as string, stream, key);
    await pause(10);
  }
}

const home = mkdtempSync(join(tmpdir(), "lintel-faults-"));
const redis = await startRedis();
const postgres = await startPostgres();
const targets = await Promise.all([startTarget(), startTarget()]);
const gateways = await Promise.all(["a", "b"].map((name) => startGateway(configFor(name))));
const [target, gateway] = [targets[0] as Running, gateways[0] as Running];

function configFor(name: string): string {
  const file = join(home, `${name}.yaml`);
  const backends = targets.map(
    ({ url }, i) => `  - { type: openai, name: t${i}, url: "${url}", models: [chat] }`,
  );
  writeFileSync(
    file,
    `auth: { mode: none }
log: { level: error }
limits: { global: { requests_per_minute: 1000000 } }
state:
  directory: ${join(home, name)}
  database: "${postgres.url}"
  redis: { url: "${redis.url}", replicas: 2 }
telemetry: { top: false }
models: [{ name: chat, backends: [t0, t1] }]
backends:
${backends.join("\n")}
`,
  );
  return file;
}

type Disturbance = readonly [string, () => Promise<void>, () => Promise<void>];
const disturbances: readonly Disturbance[] = [
  ["Redis", redis.kill, redis.start],
  ["PostgreSQL", postgres.kill, postgres.start],
  ["a model server", target.kill, target.restart],
  ["a gateway", gateway.kill, gateway.restart],
];

const ms = Number(values.seconds) * 1000;
phase = "undisturbed";
const callers = Array.from({ length: Number(values.callers) }, (_, i) =>
  caller(
    gateways.map(({ url }) => url),
    i,
  ),
);
await pause(ms);
for (const [name, kill, back] of disturbances) {
  phase = `${name} is killed`;
  await kill();
  await pause(ms);
  await back();
  phase = `${name} is back`;
  await pause(ms);
}
running = false;
await Promise.all(callers);

// A gateway brings its records to the database before it ends.
for (const one of gateways) await one.stop();
for (const one of gateways) await one.restart();
for (const one of gateways) await one.stop();
const client = new pg.Client(postgres.url);
await client.connect();
const { rows } = await client.query<{ request_id: string; n: string; ok: string }>(
  "SELECT request_id, COUNT(*) AS n, COUNT(*) FILTER (WHERE outcome = 'ok') AS ok FROM lintel_usage GROUP BY request_id",
);
await client.end();
for (const one of targets) await one.kill();
await redis.close();
await postgres.remove();
rmSync(home, { recursive: true });

const records = new Map(rows.map((row) => [row.request_id, row]));
const answered = asked.filter(({ complete }) => complete);
const lost = answered.filter(({ id }) => records.get(id)?.ok !== "1");
const twice = rows.filter(({ n }) => n !== "1");
const charged = new Map<string, number>();
for (const { id, key } of asked) {
  if (key && records.get(id)?.ok === "1") charged.set(key, (charged.get(key) ?? 0) + 1);
}
/** Redis is the memory for keys: without it a repetition runs. */
const repeated = [...charged.values()].filter((n) => n > 1).length;

const outcomes = [...new Set([...seen.values()].flatMap((counts) => [...counts.keys()]))].sort();
console.table(
  Object.fromEntries(
    [...seen].map(([name, counts]) => [
      name,
      Object.fromEntries(outcomes.map((what) => [what, counts.get(what) ?? 0])),
    ]),
  ),
);
console.log(`${asked.length} calls, ${answered.length} answered, ${rows.length} recorded`);
console.log(`answered and not recorded: ${lost.length}`);
console.log(`recorded twice: ${twice.length}`);
console.log(`keys that ran to their end twice, their answer lost on its way: ${repeated}`);
if (lost.length > 0 || twice.length > 0 || answered.length === 0) process.exitCode = 1;
