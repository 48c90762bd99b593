/** What can be seen of a gateway from outside: its handles, connections, series, files and rows. */
import { readdirSync, readFileSync, readlinkSync, statSync } from "node:fs";
import { join } from "node:path";
import type { Memory } from "../../test/faults/memory.js";
import { rows } from "./records.js";

/** What a gateway leans on. */
export interface Upstream {
  readonly url: string;
  /** How many calls run there. */
  running(): Promise<number>;
}

/** Where to look. */
export interface Outside {
  /** Processes of the gateway with their names. */
  readonly processes: readonly (readonly [string, number])[];
  /** A file of SQLite, or the URL of PostgreSQL. */
  readonly database: string;
  /** Of Prometheus: host:port. */
  readonly metrics: string;
  readonly state: string;
  readonly log: string;
  readonly upstreams: readonly Upstream[];
}

/** Files below a folder with their sizes. */
export function filesOf(folder: string): [string, number][] {
  return readdirSync(folder, { recursive: true, withFileTypes: true }).flatMap((entry) => {
    const path = join(entry.parentPath, entry.name);
    try {
      return entry.isFile() ? [[path, statSync(path).size] as [string, number]] : [];
    } catch {
      return [];
    }
  });
}

/** Sockets and others that a process has open. */
export function handlesOf(pid: number): { sockets: number; all: number } {
  const all = readdirSync(`/proc/${pid}/fd`);
  const sockets = all.filter((fd) => {
    try {
      return readlinkSync(`/proc/${pid}/fd/${fd}`).startsWith("socket:");
    } catch {
      return false;
    }
  });
  return { sockets: sockets.length, all: all.length };
}

/** Established connections to a port of this machine, from their clients' side. */
export function connectionsTo(url: string): number {
  const port = Number(new URL(url).port).toString(16).toUpperCase().padStart(4, "0");
  const lines = readFileSync("/proc/net/tcp", "utf8").split("\n");
  return lines.filter(
    (line) => line.trim().split(/\s+/)[2]?.endsWith(`:${port}`) && / 01 /.test(line),
  ).length;
}

/** Series by instrument, as `/metrics` has them. */
export async function seriesOf(metrics: string): Promise<Map<string, number>> {
  const text = await (await fetch(`http://${metrics}/metrics`)).text();
  const series = new Map<string, number>();
  for (const [, name = ""] of text.matchAll(/^(\w+)(?:\{|\s)/gm)) {
    series.set(name, (series.get(name) ?? 0) + 1);
  }
  return series;
}

/** What a process holds, on a line. */
async function hold(pid: number, memory: Memory): Promise<string> {
  // What a first collection finds is finalized in turns of the event loop behind it.
  await memory.inside(pid);
  const { rss, heap, external, resources } = await memory.inside(pid);
  const { sockets, all } = handlesOf(pid);
  const kinds = Object.entries(resources).map(([kind, n]) => `${kind} ${n}`);
  return `rss ${rss.toFixed(1)} heap ${heap.toFixed(2)} external ${external.toFixed(2)} | fds ${all} sockets ${sockets} | ${kinds.join(" ")}`;
}

/** All of it, a line for each process and one for what they have in common. */
export async function look(outside: Outside, memory: Memory): Promise<string> {
  const held: string[] = [];
  for (const [name, pid] of outside.processes) {
    // One that is killed meanwhile tells nothing.
    held.push(`${name}: ${await hold(pid, memory).catch((error: Error) => error.message)}`);
  }
  const series = await seriesOf(outside.metrics).catch(() => new Map<string, number>());
  const total = [...series.values()].reduce((sum, n) => sum + n, 0);
  const most = [...series].sort(([, one], [, other]) => other - one).slice(0, 3);
  const found = await rows(outside.database);
  const files = filesOf(outside.state);
  const size = (part: string) =>
    files.filter(([path]) => path.includes(part)).reduce((sum, [, bytes]) => sum + bytes, 0);
  const number = (part: string) => files.filter(([path]) => path.includes(part)).length;
  const kb = (bytes: number) => `${Math.round(bytes / 1024)}K`;
  const together = [
    `to upstreams ${outside.upstreams.map(({ url }) => connectionsTo(url)).join("+")}`,
    `series ${total} (${most.map(([name, n]) => `${name} ${n}`).join(", ")})`,
    `files ${files.length}: usage ${number("/usage/")} ${kb(size("/usage/"))}, media ${number("/media/")} ${kb(size("/media/"))}, db ${kb(size("lintel.db") - size("-wal") - size("-shm"))} wal ${kb(size("-wal"))}`,
    found ? `rows ${found.usage} usage, ${found.tokens} tokens` : "the database is away",
  ].join(" | ");
  return [together, ...held].join("\n  ");
}
