/**
 * Measures the gateway beside nginx, a bare proxy and other gateways: rounds that
 * interleave, so that what else the machine does meets all of them. Run by
 *   npm run bench -- [--only json,sse] [--with lintel,nginx] [--rounds 3] [--seconds 5]
 * What was measured before and is not measured now keeps its place in the report.
 */
import { spawnSync } from "node:child_process";
import { mkdtempSync, rmSync } from "node:fs";
import { cpus, loadavg, tmpdir } from "node:os";
import { join } from "node:path";
import { parseArgs } from "node:util";
import { compile } from "./compile.js";
import { bare } from "./contestants/bare.js";
import type { Contestant } from "./contestants/contestant.js";
import { lintelFull, lintelPlain } from "./contestants/lintel.js";
import { nginx } from "./contestants/nginx.js";
import { elsewhere, litellm, portkey } from "./contestants/peers.js";
import { found, otherCore } from "./cores.js";
import { type Result, readResults, report, writeResults } from "./report.js";
import { grpcAlone, grpcThrough } from "./scenarios/grpc.js";
import { install } from "./scenarios/install.js";
import { paced } from "./scenarios/paced.js";
import type { Scenario, Stage } from "./scenarios/scenario.js";
import { start } from "./scenarios/start.js";
import { agent, image, json, sse, sseApart } from "./scenarios/whole.js";
import { startUpstream } from "./upstream/upstream.js";

const { values } = parseArgs({
  options: {
    only: { type: "string" },
    with: { type: "string" },
    rounds: { type: "string", default: "3" },
    seconds: { type: "string", default: "5" },
  },
});

const contestants: readonly Contestant[] = [nginx, bare, lintelPlain, lintelFull, portkey, litellm];
const scenarios: readonly Scenario[] = [
  json(contestants),
  sse(contestants),
  sseApart(contestants),
  paced(64, contestants),
  paced(1000, [nginx, bare, lintelPlain, lintelFull]),
  grpcAlone,
  grpcThrough,
  image(contestants),
  agent(contestants),
  start,
  install,
];

for (const tool of ["wrk", "h2load", "taskset", "cc"]) {
  if (!found(tool)) throw new Error(`${tool} is not on the PATH: see bench/README.md`);
}
const missing = contestants
  .filter((one) => one.missing)
  .map(({ name, missing: why }) => `${name} does not take part: ${why}`);
for (const line of missing) console.log(line);

const folder = mkdtempSync(join(tmpdir(), "lintel-bench-"));
// What polls and counts here must not take the gateway's core.
spawnSync("taskset", ["-cp", String(otherCore), String(process.pid)]);
let ports = 21_000 + Math.floor(Math.random() * 5000);
const upstream = ports++;
const stage: Stage = {
  folder,
  upstream,
  port: () => ports++,
  seconds: Number(values.seconds),
  streams: compile("bench/load/streams.c", folder),
};
const server = await startUpstream(folder, upstream);

const rounds = Number(values.rounds);
const wanted = (list: string | undefined, name: string) => !list || list.split(",").includes(name);
const results = readResults();
try {
  for (const scenario of scenarios.filter(({ name }) => wanted(values.only, name))) {
    const result: Result = {
      about: scenario.about,
      command: `npm run bench -- --only ${scenario.name} --rounds ${rounds} --seconds ${values.seconds}`,
      date: new Date().toISOString().slice(0, 16),
      rounds,
      load: [loadavg()[0] ?? 0],
      figures: {},
    };
    const those = scenario.contestants.filter(
      (one) => !one.missing && (one.name === "direct" || wanted(values.with, one.name)),
    );
    const failed = new Set<string>();
    for (let round = 0; round < rounds; round++) {
      for (const { name } of those) {
        if (failed.has(name)) continue;
        try {
          const figures = await scenario.measure(stage, name);
          for (const [key, value] of Object.entries(figures)) {
            const of = result.figures[name] ?? {};
            result.figures[name] = of;
            of[key] = [...(of[key] ?? []), value];
          }
          const said = Object.entries(figures).map(
            ([key, v]) => `${key} ${Number(v.toPrecision(4))}`,
          );
          console.log(`${scenario.name} ${round + 1}/${rounds} ${name}: ${said.join(", ")}`);
        } catch (thrown) {
          failed.add(name);
          console.log(`${scenario.name}: ${name} failed: ${thrown}`);
        }
      }
      result.load.push(loadavg()[0] ?? 0);
    }
    results.scenarios[scenario.name] = result;
    results.machine = `${cpus().length} cores, ${cpus()[0]?.model ?? "?"}, Node ${process.version}`;
    results.about = Object.fromEntries(
      // Who is not here may have figures of before in other scenarios.
      contestants.map(({ name, about, missing: why }) => [
        name,
        why ? (results.about[name] ?? `not here: ${why}`) : about,
      ]),
    );
    results.elsewhere = [...elsewhere];
    writeResults(results);
    report(results);
  }
} finally {
  await server.stop();
  rmSync(folder, { recursive: true, force: true });
}
