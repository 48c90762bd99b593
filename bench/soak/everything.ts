/**
 * One gateway with nearly everything on, for long: calls of all kinds by all doors, always new names, users, tokens and
 * keys, clients without manners, model servers that fail, hang and come and go, and reloads. What grows in it? Run by
 * `npm run soak:everything`, for as long as `-- --minutes 35` says, with `--rate` calls a second. Prints what it holds
 * each minute, writes a snapshot of its heap at a fifth of the time and at the end, and tells what is more in the
 * second; then it holds the books: records, spend, metrics and the log against what callers saw. Folder: `--home`.
 * With `--shared` it is several workers over Redis, PostgreSQL and a bucket, which fail as well, as does the last worker.
 */
import { existsSync, mkdirSync, mkdtempSync, openSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setTimeout as pause } from "node:timers/promises";
import { parseArgs } from "node:util";
import { Agent } from "undici";
import { Memory } from "../../test/faults/memory.js";
import { startGateway, startTarget } from "../../test/faults/processes.js";
import { childrenOf } from "../../test/support/children.js";
import { freePort } from "../../test/support/port.js";
import { audit, type Call } from "./audit.js";
import { call } from "./calling.js";
import { configure } from "./configuration.js";
import { disturb, type Outage, serverDisturbances, wasAway } from "./disturbances.js";
import { workersOf } from "./gateway-log.js";
import { growth } from "./heap.js";
import { hold } from "./holding.js";
import { kindsOf } from "./kinds.js";
import { look } from "./outside.js";
import { passTokens } from "./passing-tokens.js";
import { runningAt, startShared } from "./shared.js";
import { diskDisturbance, sharedDisturbances } from "./shared-disturbances.js";

const { values } = parseArgs({
  options: {
    minutes: { type: "string", default: "35" },
    rate: { type: "string", default: "25" },
    home: { type: "string" },
    /** How often the configuration is reloaded, seconds; 0: never. */
    reload: { type: "string", default: "5" },
    /** Without snapshots of the heap, whose making takes memory that the process keeps. */
    "no-heap": { type: "boolean", default: false },
    /** Several workers over Redis and PostgreSQL, and further kinds of backends. */
    shared: { type: "boolean", default: false },
    workers: { type: "string", default: "2" },
    /** A folder on a small file system of its own, for the state: it is filled as well. */
    disk: { type: "string" },
    /** Which of what fails does: a regular expression for its name; none: "^$". */
    fails: { type: "string", default: "" },
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
const targets = { a, b, mirror };
const shared = values.shared ? await startShared(home, [a.url, b.url]) : undefined;
const upstreams = {
  ...Object.fromEntries(
    Object.entries(targets).map(([name, { url }]) => [
      name,
      { url, running: () => runningAt(url) },
    ]),
  ),
  ...shared?.upstreams,
};
const state = join(values.disk ?? home, "state");
const metrics = `127.0.0.1:${await freePort()}`;
const places = {
  file: join(home, "lintel.yaml"),
  state,
  a: a.url,
  b: b.url,
  mirror: mirror.url,
  metrics,
  database: shared?.postgres.url ?? join(state, "lintel.db"),
  shared: shared && {
    workers: Number(values.workers),
    redis: shared.redis.url,
    bucket: shared.bucket.url,
    far: shared.far.url,
    comfyui: shared.comfyui.url,
    sdapi: shared.sdapi.url,
  },
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
  // Signals are sent at once; nobody waits for the ends.
  if (shared) for (const one of [shared.far, shared.redis, shared.postgres]) void one.kill();
  // A worker that stands still does not see that the first process ended.
  for (const one of [...(existsSync(`/proc/${pid}`) ? childrenOf(pid) : []), pid]) {
    try {
      process.kill(one, "SIGKILL");
    } catch {}
  }
});
/** The process that was started, and its workers. */
const processes = (): [string, number][] => [
  ["gateway", pid],
  ...workersOf(log).map(({ worker, pid }): [string, number] => [`worker ${worker}`, pid]),
];

const calls: Call[] = [];
const agent = new Agent({ connections: 64 });
const kinds = kindsOf({ url, agent }, shared !== undefined);
let running = true;

/** Waits, in short steps, so that the end is not missed; answers whether that has not come. */
async function wait(ms: number): Promise<boolean> {
  for (const until = Date.now() + ms; running && Date.now() < until; ) await pause(100);
  return running;
}

async function reloads(): Promise<void> {
  while (running && Number(values.reload) > 0) {
    if (!(await wait(Number(values.reload) * 1000))) return;
    reload();
  }
}

function reload(): void {
  configure(places, ++form);
  process.kill(pid, "SIGHUP");
}

const outages: Outage[] = [];
const kills: number[] = [];
const failing = (all: ReturnType<typeof serverDisturbances>) =>
  all.filter(([what]) => new RegExp(values.fails).test(what));
/** One after the other, so that what stands in for one is there. */
const disturbances = failing([
  ...serverDisturbances(targets),
  ...(shared
    ? sharedDisturbances(shared, { log, workers: Number(values.workers), reload, kills })
    : []),
  ...(values.disk !== undefined ? [diskDisturbance(values.disk)] : []),
]);
const passed = { made: 0, wrong: [] as string[] };
const turns = {
  everyMs: shared ? 5000 : 17_000,
  wait,
  looks: (what: string) => hold(what, { url, file: places.file, wrong: passed.wrong }),
};
const all = [
  call(calls, { kinds, rate: Number(values.rate), isRunning: () => running }),
  reloads(),
  ...(disturbances.length > 0 ? [disturb(disturbances, outages, turns)] : []),
  passTokens(url, passed, {
    isRunning: () => running,
    wasAway: (since) => wasAway(outages, /PostgreSQL|worker|Redis/, since, Date.now()),
    several: shared !== undefined,
  }),
];

/** Snapshots of the heap, by the process. */
const snapshots = new Map<number, string>();
const snapshotOf = (name: string, which: string) =>
  join(home, `${name.replace(" ", "-")}-${which}.heapsnapshot`);
const firstAt = Date.now() + Number(values.minutes) * 12_000;
const say = async () => {
  const at = { processes: processes(), metrics, state: places.state, database: places.database };
  const told = await look({ ...at, upstreams: Object.values(upstreams), log }, memory);
  console.log(`${new Date().toISOString().slice(11, 19)} ${calls.length} calls  ${told}`);
};
while (Date.now() < endsAt) {
  await pause(Math.min(60_000, Math.max(0, endsAt - Date.now())));
  await say();
  if (snapshots.size > 0 || values["no-heap"] || Date.now() < firstAt) continue;
  for (const [name, pid] of processes()) {
    // Not of one that is killed.
    const isTaken = await memory.snapshot(pid, snapshotOf(name, "first")).then(
      () => true,
      () => false,
    );
    if (isTaken) snapshots.set(pid, name);
  }
}
running = false;
await Promise.all(all);
console.log(`no more calls; ${passed.made} tokens came and went, ${form} reloads`);
// What is kept for its time of 20 seconds goes, and so do connections.
await pause(25_000);
await say();
const wrong = [
  ...passed.wrong,
  ...(await audit({
    url,
    processes: processes(),
    metrics,
    places,
    log,
    calls,
    outages,
    kills,
    upstreams,
    stop: () => gateway.stop(),
    quiet: () => agent.close(),
    snapshot: async () => {
      const now = new Set(processes().map(([, pid]) => pid));
      for (const [pid, name] of snapshots) {
        if (!now.has(pid)) snapshots.delete(pid);
        else {
          await memory.inside(pid);
          await memory.snapshot(pid, snapshotOf(name, "second"));
        }
      }
    },
  })),
];
for (const one of Object.values(targets)) await one.kill();
await shared?.close();
for (const name of snapshots.values()) {
  console.log(`more in ${name}:`);
  for (const line of growth(snapshotOf(name, "first"), snapshotOf(name, "second")))
    console.log(line);
}
console.log(`all of it is in ${home}`);
for (const line of wrong) console.error(`WRONG: ${line}`);
process.exit(wrong.length > 0 ? 1 : 0);
