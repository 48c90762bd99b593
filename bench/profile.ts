/**
 * Where Lintel's CPU time goes under a load: functions and files by their own
 * time, and Lintel's functions with what they call. Run by
 *   npx tsx bench/profile.ts [json|sse|apart|image|unary|stream|paced] [lintel|lintel-full] [--seconds 5] [--connections 32] [--plain] [--turns 1]
 * `paced`: so many streams open, an event each 20 ms; times are those of an event.
 * `--plain`: without the profiler, only the CPU time of an answer, and how much of it the
 * first thread had (what others have is collecting, compiling, and SQLite's), and how often it
 * called the system to read and to write. `--turns 10`: so
 * often, as seconds differ.
 */
import { mkdtempSync, readdirSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { parseArgs } from "node:util";
import { answering } from "./contestants/contestant.js";
import { contestantNamed } from "./contestants/named.js";
import { cpuOf, type Kind, loadOf, warmingOf } from "./load/kinds.js";
import { warm } from "./load/warm.js";
import { startUpstream } from "./upstream/upstream.js";

const { values, positionals } = parseArgs({
  allowPositionals: true,
  options: {
    seconds: { type: "string", default: "5" },
    connections: { type: "string", default: "32" },
    plain: { type: "boolean", default: false },
    turns: { type: "string", default: "1" },
    top: { type: "string", default: "45" },
  },
});
const [given = "json", name = "lintel-full"] = positionals;
const kind = given as Kind;
const contestant = contestantNamed(name);

const folder = mkdtempSync(join(tmpdir(), "lintel-profile-"));
const profiles = join(folder, "profiles");
if (!values.plain) process.env.BENCH_NODE_OPTIONS = `--cpu-prof --cpu-prof-dir=${profiles}`;
const at = 27_000 + Math.floor(Math.random() * 3000);
const upstream = await startUpstream(folder, at);
const gateway = contestant.start(at + 1, at, folder);
/** CPU µs of an answer. */
let each = 0;
try {
  await answering(contestant, at + 1);
  const load = (kind: Kind) => loadOf(kind, contestant, at + 1, folder, Number(values.connections));
  const warming = load(warmingOf(kind));
  await warm(gateway.pid, async (seconds) => (await warming(seconds)).answers);
  for (let turn = 0; turn < Number(values.turns); turn++) {
    const measured = await cpuOf(gateway.pid, kind, load(kind), Number(values.seconds));
    const { perSecond, failures, said, firstThread, reads, writes } = measured;
    each = measured.each;
    const what = kind === "paced" ? "an event" : "an answer";
    const events =
      kind === "sse" || kind === "apart"
        ? `${Math.round(65e6 / each)} events per core-second`
        : said;
    console.log(
      `${kind} ${name}: ${each.toFixed(1)} CPU µs ${what} (${firstThread.toFixed(1)} in its first thread), ${reads.toFixed(1)} reads, ${writes.toFixed(1)} writes, ${perSecond.toFixed(0)}/s, ${failures} failures${events ? `, ${events}` : ""}`,
    );
  }
} finally {
  await gateway.stop();
  await upstream.stop();
}
if (!values.plain) {
  const file = readdirSync(profiles)
    .map((file) => readFileSync(join(profiles, file), "utf8"))
    .sort((a, b) => b.length - a.length)[0];
  print(JSON.parse(file ?? "{}"), Number(values.top));
}
rmSync(folder, { recursive: true, force: true });

interface Profile {
  readonly nodes: readonly {
    readonly id: number;
    readonly callFrame: { functionName: string; url: string; lineNumber: number };
    readonly children?: readonly number[];
  }[];
  readonly samples: readonly number[];
  readonly timeDeltas: readonly number[];
}

/** Prints the shares of all time that was not idle. */
function print({ nodes, samples, timeDeltas }: Profile, top: number): void {
  const own = new Map<number, number>();
  samples.forEach((id, i) => {
    own.set(id, (own.get(id) ?? 0) + (timeDeltas[i] ?? 0));
  });
  const byId = new Map(nodes.map((node) => [node.id, node]));
  const place = ({ url }: { url: string }) =>
    url
      .replace(/.*node_modules\//, "")
      .replace(/.*\/dist\//, "")
      .replace(/^file:\/\//, "");
  const functions = new Map<string, number>();
  const files = new Map<string, number>();
  const whole = new Map<string, number>();
  const add = (to: Map<string, number>, key: string, time: number) =>
    to.set(key, (to.get(key) ?? 0) + time);
  let sum = 0;
  const visit = (id: number, above: ReadonlySet<string>): number => {
    const node = byId.get(id);
    if (!node) return 0;
    const { callFrame } = node;
    const label = `${callFrame.functionName || "(anonymous)"} ${place(callFrame)}:${callFrame.lineNumber + 1}`;
    let time = callFrame.functionName === "(idle)" ? 0 : (own.get(id) ?? 0);
    sum += time;
    add(functions, label, time);
    add(files, place(callFrame) || callFrame.functionName, time);
    const first = !above.has(label);
    const below = first ? new Set([...above, label]) : above;
    for (const child of node.children ?? []) time += visit(child, below);
    if (first && callFrame.url !== "") add(whole, label, time);
    return time;
  };
  visit(nodes[0]?.id ?? 0, new Set());
  const groups = new Map<string, number>();
  for (const [file, time] of files) {
    const [first = "", second = ""] = file.split("/");
    add(groups, first === "src" ? `src/${second}` : (first.split(":")[0] ?? ""), time);
  }
  table("by folder or package, own time", groups);
  function table(title: string, of: Map<string, number>) {
    console.log(`\n${title}`);
    const rows = [...of].sort((a, b) => b[1] - a[1]).slice(0, top);
    for (const [label, time] of rows)
      console.log(
        `${((100 * time) / sum).toFixed(1).padStart(5)}% ${((each * time) / sum).toFixed(1).padStart(6)} µs ${label}`,
      );
  }
  table("functions, own time", functions);
  table("files, own time", files);
  table("functions with what they call", whole);
}
