/** Who runs where, and what it costs: processes pinned to cores, and their CPU time. */
import { type ChildProcess, spawn, spawnSync } from "node:child_process";
import { once } from "node:events";
import { readdirSync, readFileSync } from "node:fs";
import { cpus } from "node:os";

/** The gateway has this core for itself, as far as the machine is idle. */
export const gatewayCore = 0;
/** Load and model server share the other. */
export const otherCore = Math.min(1, cpus().length - 1);

const ticksPerSecond = Number(spawnSync("getconf", ["CLK_TCK"], { encoding: "utf8" }).stdout);

/** A core, or several as `taskset` lists them: `0-3`. */
export type Cores = number | string;

/** Arguments of `nice` for a command on its cores; `BENCH_NICE` says how the busy machine ranks it. */
const onCore = (core: Cores, command: string, args: readonly string[]) => [
  ...["-n", process.env.BENCH_NICE ?? "0", "taskset", "-c", String(core), command, ...args],
];

/** Node's options for those who run on it, from `BENCH_NODE_OPTIONS`. */
export const nodeOptions = (): string[] =>
  process.env.BENCH_NODE_OPTIONS?.split(" ").filter(Boolean) ?? [];

/** A process that runs until `stop`. */
export interface Pinned {
  readonly child: ChildProcess;
  readonly pid: number;
  stop(): Promise<void>;
}

/** Processes that run, which end with this one: Ctrl-C reaches them by itself, SIGTERM does not. */
const running = new Set<ChildProcess>();
process.once("SIGTERM", () => process.exit(143));
process.once("exit", () => {
  for (const child of running) child.kill("SIGTERM");
});

/** Starts a process on its cores. What it says goes nowhere, as a log file would cost the same. */
export function pinned(
  core: Cores,
  command: string,
  args: readonly string[],
  env: Record<string, string> = {},
  cwd?: string,
): Pinned {
  const said = process.env.BENCH_VERBOSE ? "inherit" : "ignore";
  const child = spawn("nice", onCore(core, command, args), {
    env: { ...process.env, NODE_ENV: "production", ...env },
    stdio: ["ignore", said, said],
    ...(cwd && { cwd }),
  });
  running.add(child);
  const exited = once(child, "exit").finally(() => running.delete(child));
  return {
    child,
    pid: child.pid ?? 0,
    async stop() {
      child.kill("SIGTERM");
      const hard = setTimeout(() => child.kill("SIGKILL"), 5000);
      await exited;
      clearTimeout(hard);
    },
  };
}

/** Processes that `pid` started, and itself. */
function family(pid: number): number[] {
  const all = [pid];
  for (const entry of readdirSync("/proc")) {
    if (!/^\d+$/.test(entry)) continue;
    try {
      const fields = statOf(Number(entry));
      if (all.includes(Number(fields[1]))) all.push(Number(entry));
    } catch {
      // It ended meanwhile.
    }
  }
  return all;
}

/** Fields of `/proc/PID/stat` after the name: state, parent, … A thread is `PID/task/TID`. */
function statOf(of: number | string): string[] {
  const text = readFileSync(`/proc/${of}/stat`, "utf8");
  return text.slice(text.lastIndexOf(")") + 2).split(" ");
}

/** CPU time in the fields of a `stat`, microseconds: user's and system's. */
const microsIn = (fields: readonly string[]): number =>
  ((Number(fields[11]) + Number(fields[12])) / ticksPerSecond) * 1e6;

/** CPU time of a process with all threads and children, microseconds. */
export function cpuMicros(pid: number): number {
  let micros = 0;
  for (const member of family(pid)) {
    try {
      micros += microsIn(statOf(member));
    } catch {
      // It ended meanwhile.
    }
  }
  return micros;
}

/** System calls that read and that wrote, of a process so far; of sockets, too. */
export function readsAndWrites(pid: number): { readonly reads: number; readonly writes: number } {
  const io = readFileSync(`/proc/${pid}/io`, "utf8");
  const count = (name: string) => Number(new RegExp(`^${name}: (\\d+)`, "m").exec(io)?.[1]);
  return { reads: count("syscr"), writes: count("syscw") };
}

/** CPU time of a process' first thread, microseconds: of Node, JavaScript and what it waits for. */
export const mainThreadMicros = (pid: number): number => microsIn(statOf(`${pid}/task/${pid}`));

/** Memory that is resident, of a process and its children, bytes. */
export function residentBytes(pid: number): number {
  let pages = 0;
  for (const member of family(pid)) {
    pages += Number(readFileSync(`/proc/${member}/statm`, "utf8").split(" ")[1]);
  }
  return pages * 4096;
}

/** What a command printed. @throws Error with its stderr if it failed */
export async function output(
  core: Cores,
  command: string,
  args: readonly string[],
  input = "",
): Promise<string> {
  const child = spawn("nice", onCore(core, command, args));
  let text = "";
  let errors = "";
  child.stdout.on("data", (bytes) => {
    text += bytes;
  });
  child.stderr.on("data", (bytes) => {
    errors += bytes;
  });
  child.stdin.end(input);
  const [code] = await once(child, "close");
  if (code !== 0) throw new Error(`${command} failed: ${errors || text}`);
  return text;
}

/** Where a command is, if it is on the PATH. */
export function found(command: string): string | undefined {
  const result = spawnSync("sh", ["-c", `command -v ${command} || ls /usr/sbin/${command}`], {
    encoding: "utf8",
  });
  return result.status === 0 ? result.stdout.trim() : undefined;
}

/** The last line of a command's version, for the report. */
export function versionOf(command: string, ...args: string[]): string {
  const { stdout, stderr } = spawnSync(command, args, { encoding: "utf8" });
  return (
    `${stdout ?? ""}${stderr ?? ""}`
      .trim()
      .split("\n")
      .find((line) => /\d+\.\d+/.test(line)) ?? "?"
  );
}
