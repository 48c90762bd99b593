/** A running gateway at a glance, for `lintel top`. */
import cluster from "node:cluster";
import type { EndpointSnapshot, RoutingSnapshot } from "../core/routing/snapshot.js";
import type { LastReload } from "../reloading.js";
import type { Sources } from "./gauges.js";
import type { ModelTally, Tally } from "./tally.js";

/** What it answers, as JSON. */
export interface Status {
  readonly version: string;
  readonly pid: number;
  /** Process id of the gateway; of a worker that of the process that started it. */
  readonly gateway: number;
  /** How many workers this is about; absent: one process. */
  readonly workers?: number;
  /** Seconds. */
  readonly uptime: number;
  /** Calls that run now. */
  readonly running: number;
  readonly models: readonly ModelTally[];
  readonly targets: readonly EndpointSnapshot[];
  readonly retries: RoutingSnapshot["retries"];
  /** What does not answer: the stores `limits`, `answers`, `cache`, `images`, `tokens`, `usage`, and issuers (`issuer NAME`). */
  readonly away: readonly string[];
  /** Absent: nothing can be reloaded. */
  readonly lastReload?: LastReload | undefined;
}

/** How it stands now. */
export function statusOf(version: string, tally: Tally, sources: Sources): Status {
  const { endpoints, retries } = sources.routing();
  const { limits, answers, cache, images, tokens, usage, issuers } = sources;
  const away = [
    limits && !limits.state.available && "limits",
    answers?.away && "answers",
    cache?.away && "cache",
    images?.away && "images",
    tokens?.away && "tokens",
    usage?.away && "usage",
    ...(issuers?.() ?? []).map((issuer) => issuer.away && `issuer ${issuer.name}`),
  ];
  return {
    version,
    pid: process.pid,
    gateway: cluster.isWorker ? process.ppid : process.pid,
    uptime: process.uptime(),
    running: sources.running(),
    models: tally.snapshot(),
    targets: endpoints,
    retries,
    away: away.filter((name) => typeof name === "string"),
    lastReload: sources.lastReload?.(),
  };
}
