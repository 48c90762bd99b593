/**
 * One gateway with nearly everything on, for long: calls of all kinds by all doors, always new names, users, tokens and
 * keys, clients without manners, model servers that fail, hang and come and go, and reloads. What grows in it? Run by
 * `npm run soak:everything`, for as long as `-- --minutes 35` says, with `--rate` calls a second. Prints what it holds
 * each minute, writes a snapshot of its heap at a fifth of the time and at the end, and tells what is more in the
 * second; then it holds the books: records, spend, metrics and the log against what callers saw. Folder: `--home`.
 */
import { randomUUID } from "node:crypto";
import { mkdirSync, mkdtempSync, openSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setTimeout as pause } from "node:timers/promises";
import { parseArgs } from "node:util";
import { Agent } from "undici";
import { Memory } from "../../test/faults/memory.js";
import { startGateway, startTarget } from "../../test/faults/processes.js";
import { freePort } from "../../test/support/port.js";
import { audit, type Call } from "./audit.js";
import { configure } from "./configuration.js";
import { growth } from "./heap.js";
import { kindsOf } from "./kinds.js";
import { look } from "./outside.js";
import { passTokens } from "./passing-tokens.js";

const { values } = parseArgs({
  options: {
    minutes: { type: "string", default: "35" },
    rate: { type: "string", default: "25" },
    home: { type: "string" },
    /** How often the configuration is reloaded, seconds; 0: never. */
    reload: { type: "string", default: "5" },
    /** Without snapshots of the heap, whose making takes memory that the process keeps. */
    "no-heap": { type: "boolean", default: false },
  },
});
const endsAt = Date.now() + Number(values.minutes) * 60_000;
const home = values.home ?? mkdtempSync(join(tmpdir(), "lintel-everything-"));
mkdirSync(home, { recursive: true });
const program = "bench/soak/upstream.ts";
const [a, b, mirror] = await Promise.all([
  startTarget(program, "a"),
  startTarget(program, "b"),
  startTarget(program, "mirror"),
]);
const upstreams = { a, b, mirror };
const metrics = `127.0.0.1:${await freePort()}`;
const places = {
  file: join(home, "lintel.yaml"),
  state: join(home, "state"),
  a: a.url,
  b: b.url,
  mirror: mirror.url,
  metrics,
};
for (const signal of ["SIGINT", "SIGTERM"] as const) process.on(signal, () => process.exit(1));
let form = 0;
configure(places, form);
const memory = new Memory(home);
const log = join(home, "log");
const options = ["--min-semi-space-size=16", ...memory.options];
const gateway = await startGateway(places.file, options, "dist/src/main.js", openSync(log, "w"));
const { url, pid } = gateway;
process.on("exit", () => {
  try {
    process.kill(pid, "SIGKILL");
  } catch {}
});

const calls: Call[] = [];
const agent = new Agent({ connections: 64 });
const kinds = kindsOf({ url, agent });
const going = new Set<Promise<void>>();
let running = true;

async function make(i: number): Promise<void> {
  const [kind, ask] = kinds[i % kinds.length] as (typeof kinds)[number];
  const call: Call = { id: randomUUID(), kind, seen: "unheard", error: undefined };
  calls.push(call);
  try {
    call.seen = await ask(call.id);
  } catch (error) {
    call.error = String((error as Error).message).slice(0, 120);
  }
}

/** Calls at a rate, whatever becomes of them. */
async function callers(): Promise<void> {
  const from = performance.now();
  for (let i = 0; running; i++) {
    const one: Promise<void> = make(i).finally(() => going.delete(one));
    going.add(one);
    await pause(Math.max(0, from + ((i + 1) * 1000) / Number(values.rate) - performance.now()));
  }
}

/** Waits, in short steps, so that the end is not missed. */
async function wait(ms: number): Promise<void> {
  for (const until = Date.now() + ms; running && Date.now() < until; ) await pause(100);
}

async function reloads(): Promise<void> {
  while (running && Number(values.reload) > 0) {
    await wait(Number(values.reload) * 1000);
    if (!running) return;
    configure(places, ++form);
    process.kill(pid, "SIGHUP");
  }
}

/** One model server after the other is away for some seconds. */
async function outages(): Promise<void> {
  for (let i = 0; running; i++) {
    await wait(17_000);
    const one = [a, mirror, b][i % 3];
    await one?.kill();
    await wait(2000);
    await one?.restart();
  }
}

const passed = { made: 0, wrong: [] as string[] };
const all = [callers(), reloads(), outages(), passTokens(url, passed, () => running)];

const first = join(home, "first.heapsnapshot");
const second = join(home, "second.heapsnapshot");
const firstAt = Date.now() + Number(values.minutes) * 12_000;
let isTaken = false;
const say = async () => {
  const told = await look(
    { pid, metrics, state: places.state, upstreams: Object.values(upstreams), log },
    memory,
  );
  console.log(`${new Date().toISOString().slice(11, 19)} ${calls.length} calls  ${told}`);
};
while (Date.now() < endsAt) {
  await pause(Math.min(60_000, Math.max(0, endsAt - Date.now())));
  await say();
  if (!isTaken && !values["no-heap"] && Date.now() >= firstAt) {
    await memory.snapshot(pid, first);
    isTaken = true;
  }
}
running = false;
await Promise.all(all);
await Promise.all(going);
console.log(`no more calls; ${passed.made} tokens came and went, ${form} reloads`);
// What is kept for its time of 20 seconds goes, and so do connections.
await pause(25_000);
await say();
const wrong = [
  ...passed.wrong,
  ...(await audit({
    url,
    pid,
    metrics,
    places,
    log,
    calls,
    upstreams,
    stop: () => gateway.stop(),
    quiet: () => agent.close(),
    snapshot: async () => {
      if (!isTaken) return;
      await memory.inside(pid);
      await memory.snapshot(pid, second);
    },
  })),
];
for (const one of Object.values(upstreams)) await one.kill();
for (const line of isTaken ? growth(first, second) : []) console.log(line);
console.log(`all of it is in ${home}`);
for (const line of wrong) console.error(`WRONG: ${line}`);
process.exit(wrong.length > 0 ? 1 : 0);
