/** What a gateway's log tells: its calls, its workers, and how often it said what. */
import { readFileSync } from "node:fs";
import type { Outage } from "./disturbances.js";

interface Line {
  readonly level: number;
  readonly time?: number;
  readonly keeps?: string;
  readonly msg: string;
  readonly code?: string;
  readonly worker?: number;
  readonly pid?: number;
}

/** @param having words that all of them have: the others are not looked at */
const linesOf = (file: string, having = ""): Line[] =>
  readFileSync(file, "utf8")
    .split("\n")
    .filter((line) => line !== "" && line.includes(having))
    // What is no JSON, Node wrote: something was not caught.
    .map((line) => (line.startsWith("{") ? JSON.parse(line) : { level: 60, msg: line }));

/** Workers that serve, by their numbers; none of a gateway that has none. */
export function workersOf(file: string): { readonly worker: number; readonly pid: number }[] {
  const workers = new Map<number, number>();
  const listens = "a worker listens";
  for (const { msg, worker = 0, pid = 0 } of linesOf(file, listens)) {
    if (msg === listens) workers.set(worker, pid);
  }
  return [...workers]
    .sort(([one], [other]) => one - other)
    .map(([worker, pid]) => ({ worker, pid }));
}

/** When workers did without the answers of keys that Redis has, as they say: on a busy machine it may be too late with one. */
export function withoutAnswers(file: string): Outage[] {
  const outages = new Map<number, Outage>();
  const all: Outage[] = [];
  for (const { msg, time = 0, keeps, worker = 0 } of linesOf(file, "the store is ")) {
    if (keeps !== "answers") continue;
    const outage = outages.get(worker);
    if (outage) outage.until = time;
    outages.delete(worker);
    if (!msg.startsWith("the store is away")) continue;
    const begun = { what: "answers", from: time, until: Number.POSITIVE_INFINITY };
    outages.set(worker, begun);
    all.push(begun);
  }
  return all;
}

/** Lines of calls that processes wrote which still run, as metrics count them, and how often each other line is there. */
export function readLog(file: string): { lines: number; counts: Map<string, number> } {
  const counts = new Map<string, number>();
  const lines = new Map<number, number>();
  for (const { level, msg, code, worker = 0 } of linesOf(file)) {
    if (msg === "call") lines.set(worker, (lines.get(worker) ?? 0) + 1);
    // Behind the last line of that one; the next one counts from 0.
    if (msg.startsWith("a worker ended")) lines.set(worker, 0);
    const what = msg === "call" ? `${level} call, ${code}` : `${level} ${msg}`;
    counts.set(what, (counts.get(what) ?? 0) + 1);
  }
  return { lines: [...lines.values()].reduce((sum, n) => sum + n, 0), counts };
}
