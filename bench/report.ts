/** Keeps results, and writes them into README.md and a picture. */
import { spawnSync } from "node:child_process";
import { existsSync, mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { writePicture } from "./picture.js";
import { median, reader, targets } from "./targets.js";

/** One scenario's last run. */
export interface Result {
  readonly about: string;
  readonly command: string;
  readonly date: string;
  readonly rounds: number;
  /** Load average of the machine before the first round and after each. */
  readonly load: number[];
  /** By contestant and figure: a value for each round. */
  readonly figures: Record<string, Record<string, number[]>>;
}

export interface Results {
  machine: string;
  about: Record<string, string>;
  elsewhere: string[];
  scenarios: Record<string, Result>;
}

/** Another machine's results have a folder of their own. */
const into = process.env.BENCH_INTO ?? import.meta.dirname;
const file = join(into, "results.json");
const readme = join(into, "README.md");
const begin = "<!-- results -->";
const end = "<!-- end of results -->";

export function readResults(): Results {
  // Before anything is measured, rather than after it.
  mkdirSync(into, { recursive: true });
  if (!existsSync(file)) return { machine: "", about: {}, elsewhere: [], scenarios: {} };
  return JSON.parse(readFileSync(file, "utf8"));
}

export function writeResults(results: Results): void {
  const short = (_: string, value: unknown) =>
    typeof value === "number" ? Number(value.toPrecision(6)) : value;
  writeFileSync(file, JSON.stringify(results, short));
  // As the linter wants every file of the project.
  spawnSync("npx", ["biome", "format", "--write", file], { stdio: "ignore" });
}

/** Names of figures as the tables have them. */
const titles: Record<string, string> = {
  failures: "failed",
  cpu: "CPU µs",
  rps: "requests/s",
  events: "events/s",
  core: "events per core-second",
  first50: "first token p50 ms",
  first99: "p99 ms",
  delay50: "event's delay p50 ms",
  delay99: "p99 ms",
  merged: "events in a read",
  cpuShare: "cores used",
  streamKB: "KB a stream",
  residentMB: "MB",
  unaryCpu: "unary CPU µs",
  unaryPerSecond: "unary/s",
  unaryCore: "unary per core-second",
  streamCpu: "stream CPU µs",
  streamPerSecond: "streams/s",
  streamCore: "streams per core-second",
  messagesCore: "messages per core-second",
  healthMs: "first answer ms",
  idleMB: "idle MB",
  installMB: "MB on disk",
};

function title(key: string): string {
  const [name = "", connections] = key.split("@");
  return `${titles[name] ?? name}${connections ? ` (${connections})` : ""}`;
}

/** Four digits, and the least and the greatest of the rounds. */
function cell(values: readonly number[] | undefined): string {
  if (!values) return "";
  const short = (value: number) =>
    Math.abs(value) >= 100
      ? Math.round(value).toLocaleString("en")
      : String(Number(value.toPrecision(3)));
  const low = Math.min(...values);
  const high = Math.max(...values);
  return low === high ? short(low) : `${short(median(values))} (${short(low)}–${short(high)})`;
}

function table(name: string, { about, command, date, rounds, load, figures }: Result): string {
  const shown = (key: string) =>
    !key.startsWith("failures") ||
    Object.values(figures).some((of) => of[key]?.some((value) => value > 0));
  const keys = [...new Set(Object.values(figures).flatMap(Object.keys))].filter(shown);
  const rows = Object.entries(figures).map(
    ([who, of]) => `| ${who} | ${keys.map((key) => cell(of[key])).join(" | ")} |`,
  );
  const loads = load.map((value) => value.toFixed(1)).join(", ");
  const loaded = loads && `, load average ${loads}`;
  return `### ${name}: ${about}

| | ${keys.map(title).join(" | ")} |
|---|${keys.map(() => "---|").join("")}
${rows.join("\n")}

\`${command}\`, ${date} UTC, medians of ${rounds} rounds (least–greatest)${loaded}.
`;
}

/** Writes the tables and the picture. */
export function report(results: Results): void {
  const read = reader(results);
  const rows = targets.map((target) => {
    const judged = target.judge(read);
    const said = judged
      ? `${judged.measured} | ${judged.met ? "met" : "**not met**"}`
      : "not measured | –";
    return `| ${target.what} | ${target.target} | ${said} |`;
  });
  const text = `${begin}
## Targets

| what | target | measured | |
|---|---|---|---|
${rows.join("\n")}

![CPU time of a request](cpu.svg)

## Who took part

Machine: ${results.machine}.

${Object.entries(results.about)
  .map(([name, about]) => `- \`${name}\`: ${about}`)
  .join("\n")}

Not measured:

${results.elsewhere.map((line) => `- ${line}`).join("\n")}

## Figures

${Object.entries(results.scenarios)
  .map(([name, result]) => table(name, result))
  .join("\n")}${end}`;
  const before = existsSync(readme) ? readFileSync(readme, "utf8") : `# Bench\n\n${begin}${end}\n`;
  const head = before.slice(0, before.indexOf(begin));
  const tail = before.slice(before.indexOf(end) + end.length);
  writeFileSync(readme, head + text + tail);
  writePicture(results, into);
}
