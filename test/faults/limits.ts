/**
 * Three gateways with one Redis under load, undisturbed and with kills. Prints
 * what callers saw; fails if an undisturbed limit is missed by more than 1%.
 * Run by `npm run faults:limits`, for longer by `-- --seconds 60 --rate 2000`.
 */
import { type ChildProcess, fork } from "node:child_process";
import { once } from "node:events";
import { basename } from "node:path";
import { performance } from "node:perf_hooks";
import { setTimeout as pause } from "node:timers/promises";
import { fileURLToPath } from "node:url";
import { parseArgs } from "node:util";
import { Pool } from "undici";
import { redisBinary, startRedis } from "../support/redis.js";

const { values } = parseArgs({
  options: {
    rate: { type: "string", default: "2000" },
    seconds: { type: "string", default: "15" },
  },
});
const rate = Number(values.rate);
const seconds = Number(values.seconds);
/** Half of what comes. */
const limit = (rate * seconds) / 2;

interface Replica {
  readonly child: ChildProcess;
  readonly url: string;
}

async function startReplica(redisUrl: string, say: (text: string) => void): Promise<Replica> {
  const file = fileURLToPath(new URL("./replica.ts", import.meta.url));
  const child = fork(file, [redisUrl, JSON.stringify({ requestsPerMinute: limit })], {
    execArgv: ["--import", "tsx"],
  });
  const url = await new Promise<string>((resolve, reject) => {
    child.on("message", (message: { url?: string; said?: string }) => {
      if (message.url) resolve(message.url);
      if (message.said) say(message.said);
    });
    child.once("exit", (code) => reject(new Error(`a replica ended with ${code}`)));
  });
  return { child, url };
}

/** What callers saw. */
interface Seen {
  readonly answers: Map<string, number>;
  slowestMs: number;
}

const body = JSON.stringify({ messages: [{ role: "user", content: "Hello" }] });

/** Asks at an even rate, whatever is answered: callers do not wait for each other. */
async function load(replicas: readonly Replica[], seen: Seen): Promise<number> {
  const pools = replicas.map(({ url }) => new Pool(url, { connections: 64 }));
  const pending = new Set<Promise<void>>();
  const count = (what: string) => seen.answers.set(what, (seen.answers.get(what) ?? 0) + 1);
  const ask = async (pool: Pool) => {
    const from = performance.now();
    try {
      const { statusCode, body: answer } = await pool.request({
        path: "/llm",
        method: "POST",
        headers: { "content-type": "application/json" },
        body,
      });
      await answer.dump();
      count(String(statusCode));
    } catch {
      count("connection lost");
    }
    seen.slowestMs = Math.max(seen.slowestMs, performance.now() - from);
  };
  const started = performance.now();
  for (let sent = 0; sent < rate * seconds; ) {
    const due = Math.min(rate * seconds, ((performance.now() - started) * rate) / 1000);
    for (; sent < due; sent++) {
      const one: Promise<void> = ask(pools[sent % pools.length] as Pool).finally(() =>
        pending.delete(one),
      );
      pending.add(one);
    }
    await pause(5);
  }
  await Promise.all(pending);
  const took = (performance.now() - started) / 1000;
  await Promise.all(pools.map((pool) => pool.destroy()));
  return took;
}

async function scenario(
  title: string,
  disturb?: (
    kill: { redis(): Promise<void>; replica(): void },
    back: () => Promise<void>,
  ) => Promise<void>,
): Promise<Seen> {
  console.log(`\n${title}`);
  const redis = await startRedis();
  const at = performance.now();
  const say = (text: string) =>
    console.log(`  ${((performance.now() - at) / 1000).toFixed(1).padStart(5)} s  ${text}`);
  const replicas = await Promise.all([0, 1, 2].map(() => startReplica(redis.url, say)));
  const seen: Seen = { answers: new Map(), slowestMs: 0 };
  const [took] = await Promise.all([
    load(replicas, seen),
    disturb?.(
      {
        async redis() {
          say("Redis is killed");
          await redis.kill();
        },
        replica() {
          say("a replica is killed");
          replicas[2]?.child.kill("SIGKILL");
        },
      },
      async () => {
        await redis.start();
        say("Redis is started again, empty");
      },
    ),
  ]);
  for (const [answer, n] of [...seen.answers].sort()) console.log(`  ${answer.padEnd(16)} ${n}`);
  console.log(`  ${Math.round((rate * seconds) / took)} requests per second`);
  console.log(`  slowest answer   ${Math.round(seen.slowestMs)} ms`);
  for (const { child } of replicas) {
    if (child.exitCode !== null || child.signalCode !== null) continue;
    const gone = once(child, "exit");
    child.kill("SIGKILL");
    await gone;
  }
  await redis.close();
  return seen;
}

if (!redisBinary) throw new Error("this needs redis-server or valkey-server on the PATH");
console.log(
  `3 gateways, one ${basename(redisBinary)}, ${rate} requests per second for ${seconds} s, limit ${limit} per minute, Node ${process.version}`,
);
const steady = await scenario("undisturbed");
const passed = steady.answers.get("200") ?? 0;
const off = Math.abs(passed - limit) / limit;
console.log(`  ${passed} of ${limit} let through: off by ${(100 * off).toFixed(3)}%`);

await scenario(
  "Redis and a replica are killed: each gateway counts a third for itself meanwhile",
  async (kill, back) => {
    await pause(seconds * 200);
    await kill.redis();
    await pause(seconds * 200);
    await back();
    await pause(seconds * 200);
    kill.replica();
  },
);
if (off > 0.01) {
  console.error("the limit was not held within 1%");
  process.exitCode = 1;
}
