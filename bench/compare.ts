/**
 * Two builds or two settings, told apart on a machine whose seconds differ: both run at
 * once on the same core and are measured in turns, a second each. Run by
 *   npx tsx bench/compare.ts [json|sse|apart|image|unary|stream|paced] CONTESTANT[,main=FILE][,node=OPTION]… CONTESTANT… [--starts 3] [--turns 20] [--seconds 1] [--rest 0]
 * as in `compare.ts json lintel-full,main=../before/dist/src/main.js lintel-full`.
 * Prints CPU µs of an answer of each (of paced streams: of an event), and of two the first's share
 * of the second's, medians of all turns, for each start and over all: code is laid out and
 * inlined anew at each start. `--rest 2`: a turn counts what is done in so many seconds after
 * it, too, as records of usage are brought into the database.
 */
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { parseArgs } from "node:util";
import { answering } from "./contestants/contestant.js";
import { startVariant } from "./contestants/variant.js";
import { cpuMicros } from "./cores.js";
import { cpuOf, type Kind, loadOf, warmingOf } from "./load/kinds.js";
import { warm } from "./load/warm.js";
import { median } from "./targets.js";
import { startUpstream } from "./upstream/upstream.js";

const { values, positionals } = parseArgs({
  allowPositionals: true,
  options: {
    starts: { type: "string", default: "3" },
    turns: { type: "string", default: "20" },
    connections: { type: "string", default: "32" },
    seconds: { type: "string", default: "1" },
    rest: { type: "string", default: "0" },
  },
});
const [given = "json", ...variants] = positionals;
const kind = given as Kind;
const folder = mkdtempSync(join(tmpdir(), "lintel-compare-"));
const at = 27_000 + Math.floor(Math.random() * 3000);
const upstream = await startUpstream(folder, at);
const shares: number[] = [];
try {
  for (let start = 1; start <= Number(values.starts); start++) {
    const running = variants.map((variant, i) => begin(variant, at + 1 + i, join(folder, `${i}`)));
    try {
      for (const { ready } of running) await ready();
      const each: number[][] = running.map(() => []);
      for (let turn = 0; turn < Number(values.turns); turn++) {
        for (const [i, { measure }] of running.entries()) each[i]?.push(await measure());
      }
      const [first = [], second = []] = each;
      const share = first.map((micros, i) => micros / (second[i] ?? Number.NaN));
      if (running.length === 2) shares.push(median(share));
      const told = each.map((micros) => `${median(micros).toFixed(1)} (${quarters(micros)})`);
      const of = running.length === 2 ? `, share ${median(share).toFixed(3)}` : "";
      console.log(`start ${start}: ${told.join(" | ")} µs${of}`);
    } finally {
      for (const { gateway } of running) await gateway.stop();
    }
  }
  if (shares.length > 0) {
    console.log(`share of the first in the second: ${median(shares).toFixed(3)}, median of starts`);
  }
} finally {
  await upstream.stop();
  rmSync(folder, { recursive: true, force: true });
}

function begin(variant: string, port: number, folder: string) {
  const { contestant, gateway } = startVariant(variant, port, at, folder);
  const loadOfKind = (kind: Kind) =>
    loadOf(kind, contestant, port, folder, Number(values.connections));
  const load = loadOfKind(kind);
  const warming = loadOfKind(warmingOf(kind));
  return {
    gateway,
    async ready() {
      await answering(contestant, port);
      await warm(gateway.pid, async (seconds) => (await warming(seconds)).answers);
    },
    async measure() {
      const rest = Number(values.rest);
      const before = cpuMicros(gateway.pid);
      const { each, answers } = await cpuOf(gateway.pid, kind, load, Number(values.seconds));
      if (rest === 0) return each;
      await sleep(rest * 1000);
      return (cpuMicros(gateway.pid) - before) / answers;
    },
  };
}

function quarters(of: readonly number[]): string {
  const sorted = of.toSorted((a, b) => a - b);
  const at = (share: number) => sorted[Math.floor(share * sorted.length)]?.toFixed(0);
  return `${at(0.25)}–${at(0.75)}`;
}
