/**
 * How many bytes a contestant allocates for an answer, and in which functions, and how many of them
 * get into the old space, where they stay until a full collection. Run by
 *   npx tsx bench/allocations.ts [json|sse|apart|image|unary|stream|paced|rest|responses|anthropic|google|connect|rest-sse|…] [lintel|lintel-full|undici] [--seconds 5] [--connections 32] [--top 40]
 * `paced`: so many streams open, an event each 20 ms; bytes are those of an event, with what it
 * takes to open the streams. Counted is
 * what V8's heap gets, not buffers outside of it, by samples: functions that are put into
 * others count as these, unless `BENCH_NODE_OPTIONS=--no-turbo-inlining`. Unlike times, bytes
 * hardly depend on what else the machine does.
 */
import { existsSync, mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { fileURLToPath } from "node:url";
import { parseArgs } from "node:util";
import { answering } from "./contestants/contestant.js";
import { contestantNamed } from "./contestants/named.js";
import { type Kind, loadOf, warmingOf } from "./load/kinds.js";
import { warm } from "./load/warm.js";
import { type Collections, scavenges } from "./old-space.js";
import { startUpstream } from "./upstream/upstream.js";

const { values, positionals } = parseArgs({
  allowPositionals: true,
  options: {
    seconds: { type: "string", default: "5" },
    connections: { type: "string", default: "32" },
    top: { type: "string", default: "40" },
  },
});
const [given = "json", name = "lintel-full"] = positionals;
const kind = given as Kind;
const contestant = contestantNamed(name);
const folder = mkdtempSync(join(tmpdir(), "lintel-allocations-"));
const file = join(folder, "profile.json");
const hook = fileURLToPath(new URL("contestants/allocating.mjs", import.meta.url));
process.env.BENCH_ALLOCATIONS = file;
process.env.BENCH_NODE_OPTIONS = `${process.env.BENCH_NODE_OPTIONS ?? ""} --import ${hook}`;

const at = 27_000 + Math.floor(Math.random() * 3000);
const upstream = await startUpstream(folder, at);
const gateway = contestant.start(at + 1, at, folder);
try {
  await answering(contestant, at + 1);
  const load = (kind: Kind) => loadOf(kind, contestant, at + 1, folder, Number(values.connections));
  const warming = load(warmingOf(kind));
  await warm(gateway.pid, async (seconds) => (await warming(seconds)).answers);
  const measured = load(kind);
  await measured(2);
  // Begins and ends with the load, so that all answers are in it and nothing else.
  process.kill(gateway.pid, "SIGUSR2");
  await sleep(200);
  const { answers } = await measured(Number(values.seconds));
  process.kill(gateway.pid, "SIGUSR2");
  while (!existsSync(file)) await sleep(100);
  await sleep(500);
  print(JSON.parse(readFileSync(file, "utf8")), answers, Number(values.top));
} finally {
  await gateway.stop();
  await upstream.stop();
  rmSync(folder, { recursive: true, force: true });
}

interface Node {
  readonly callFrame: { functionName: string; url: string; lineNumber: number };
  readonly selfSize: number;
  readonly children: readonly Node[];
}

/** Prints what was allocated, and what collections of the new space moved to the old one. */
function print(
  { profile, statistics }: { profile: { head: Node }; statistics: Collections },
  answers: number,
  top: number,
): void {
  const functions = new Map<string, number>();
  let all = 0;
  const visit = ({ callFrame, selfSize, children }: Node): void => {
    const { functionName, url, lineNumber } = callFrame;
    const place = url.replace(/.*(?:node_modules|\/dist)\//, "").replace(/^file:\/\//, "");
    const label = `${functionName || "(anonymous)"} ${place}:${lineNumber + 1}`;
    functions.set(label, (functions.get(label) ?? 0) + selfSize);
    all += selfSize;
    for (const child of children) visit(child);
  };
  visit(profile.head);
  const each = (bytes: number) => Math.round(bytes / answers);
  console.log(
    `${kind} ${name}: ${each(all)} bytes ${kind === "paced" ? "an event" : "an answer"}, of ${answers}`,
  );
  const { count, micros, bytes } = scavenges(statistics);
  console.log(
    `${each(bytes)} of them got into the old space; ${count} scavenges took ${(micros / answers).toFixed(1)} µs each answer`,
  );
  for (const [label, bytes] of [...functions].sort((a, b) => b[1] - a[1]).slice(0, top)) {
    console.log(
      `${((100 * bytes) / all).toFixed(1).padStart(5)}% ${String(each(bytes)).padStart(7)} ${label}`,
    );
  }
}
