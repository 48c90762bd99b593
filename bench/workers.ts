/**
 * What more workers bring: requests per second of a gateway with 1, 2, 4 … of them, each with a core for
 * itself, and their CPU time per request. Run by `npx tsx bench/workers.ts [--workers 1,2,4,8]
 * [--seconds 3] [--rounds 3]`. It needs Redis, wrk, and five cores besides those of the workers: one for the
 * model server, one for Redis, three for the load; with fewer it says that they are shared.
 */
import { mkdtempSync, rmSync } from "node:fs";
import { availableParallelism, cpus, tmpdir } from "node:os";
import { join } from "node:path";
import { parseArgs } from "node:util";
import { freePort } from "../test/support/port.js";
import { answering, type Contestant, chatBody, headersOf } from "./contestants/contestant.js";
import { lintelFull, lintelPlain } from "./contestants/lintel.js";
import { cpuMicros, pinned } from "./cores.js";
import { idle } from "./load/warm.js";
import { wrk } from "./load/wrk.js";
import { median } from "./targets.js";
import { startUpstream } from "./upstream/upstream.js";

const { values } = parseArgs({
  options: {
    workers: { type: "string", default: "1,2,4,8" },
    seconds: { type: "string", default: "3" },
    rounds: { type: "string", default: "3" },
  },
});
const counts = values.workers.split(",").map(Number);
const seconds = Number(values.seconds);
const most = Math.max(...counts);
const cores = availableParallelism();

/** Core `at`, counted round where there are fewer. */
const core = (at: number) => at % cores;
const span = (from: number, count: number) =>
  [...new Set(Array.from({ length: count }, (_, i) => core(from + i)))].join(",");
const loadCores = Math.max(3, cores - most - 2);
/** Connections for each worker. */
const connections = 32;

console.log(
  `${cores} cores of ${cpus()[0]?.model}, Node ${process.version}, ${connections} connections for each worker`,
);
if (cores < most + 5) console.log("there are too few cores: workers share theirs with the load");

const folder = mkdtempSync(join(tmpdir(), "lintel-bench-"));
const upstreamPort = await freePort();
const upstream = await startUpstream(folder, upstreamPort, core(most));
const redisPort = await freePort();
const redis = pinned(core(most + 1), "redis-server", [
  ...["--port", String(redisPort), "--bind", "127.0.0.1", "--save", "", "--dir", folder],
]);

interface Measured {
  readonly perSecond: number;
  /** CPU time of a request, microseconds: the gateway's, and that of Redis. */
  readonly micros: number;
  readonly redis: number;
}

async function measure(contestant: Contestant, workers: number): Promise<Measured> {
  const port = await freePort();
  const state = {
    directory: join(folder, `${contestant.name}-${workers}`),
    redis: { url: `redis://127.0.0.1:${redisPort}` },
  };
  const gateway = contestant.start(port, upstreamPort, folder, {
    core: span(0, workers),
    config: { state, workers },
  });
  try {
    await answering(contestant, port);
    const load = (seconds: number) =>
      wrk({
        folder,
        core: span(most + 2, loadCores),
        threads: Math.min(loadCores, workers),
        url: `http://127.0.0.1:${port}/v1/chat/completions`,
        connections: connections * workers,
        seconds,
        headers: headersOf(contestant),
        body: chatBody("bench", false),
      });
    // By time: how much a single worker has done can't be told from outside.
    for (let run = 0; run < 8; run++) await load(1);
    await idle(gateway.pid);
    const before = [cpuMicros(gateway.pid), cpuMicros(redis.pid)] as const;
    const { requests, perSecond, failures } = await load(seconds);
    const micros = (cpuMicros(gateway.pid) - before[0]) / requests;
    if (failures > 0) console.log(`${failures} of ${requests} requests failed`);
    return { perSecond, micros, redis: (cpuMicros(redis.pid) - before[1]) / requests };
  } finally {
    await gateway.stop();
  }
}

try {
  for (const contestant of [lintelPlain, lintelFull]) {
    console.log(`\n${contestant.name}: ${contestant.about}`);
    console.log("workers   requests/s   times the first   CPU µs of a request   and of Redis");
    const all = counts.map((count) => ({ count, rounds: [] as Measured[] }));
    for (let round = 0; round < Number(values.rounds); round++) {
      for (const { count, rounds } of all) rounds.push(await measure(contestant, count));
    }
    const of = (rounds: readonly Measured[], what: keyof Measured) =>
      median(rounds.map((round) => round[what]));
    const first = of(all[0]?.rounds ?? [], "perSecond");
    for (const { count, rounds } of all) {
      const fields = [
        String(count).padStart(7),
        of(rounds, "perSecond").toFixed(0).padStart(13),
        (of(rounds, "perSecond") / first).toFixed(2).padStart(18),
        of(rounds, "micros").toFixed(0).padStart(22),
        of(rounds, "redis").toFixed(0).padStart(15),
      ];
      console.log(fields.join(""));
    }
  }
} finally {
  await upstream.stop();
  await redis.stop();
  rmSync(folder, { recursive: true, force: true });
}
