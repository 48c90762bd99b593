/** A running gateway at a glance, for `lintel top`. */
import cluster from "node:cluster";
import { type BudgetUse, fullest } from "../core/limits/budget-use.js";
import type { EndpointSnapshot, RoutingSnapshot } from "../core/routing/snapshot.js";
import type { LastReload } from "../reloading.js";
import type { Sources } from "./gauges.js";
import type { MirrorTallies, MirrorTally } from "./mirror-tally.js";
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
  /** Absent: a gateway of an earlier version tells none. */
  readonly mirrors?: readonly MirrorStatus[];
  readonly retries: RoutingSnapshot["retries"];
  /** What does not answer: the stores `limits`, `answers`, `cache`, `images`, `tokens`, `usage`, and issuers (`issuer NAME`). */
  readonly away: readonly string[];
  /** Absent: nothing can be reloaded. */
  readonly lastReload?: LastReload | undefined;
  /** The nearest to their end first; absent: a gateway of an earlier version tells none. */
  readonly budgets?: readonly BudgetUse[];
}

/** Budgets that are told. */
export const mostBudgets = 20;

/** A mirror, and the health of the model that it is; without that it was not asked since the last reload. */
export type MirrorStatus = MirrorTally &
  Partial<Pick<EndpointSnapshot, "state" | "outForMs" | "lastFailure">>;

/** What was counted since the start. */
interface Tallies {
  readonly calls: Tally;
  readonly mirrors: MirrorTallies;
}

/** How it stands now. */
export function statusOf(version: string, tallies: Tallies, sources: Sources): Status {
  const { endpoints, mirrors, retries } = sources.routing();
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
    models: tallies.calls.snapshot(),
    targets: endpoints,
    mirrors: tallies.mirrors.snapshot().map((mirror) => withHealth(mirror, mirrors)),
    retries,
    away: away.filter((name) => typeof name === "string"),
    lastReload: sources.lastReload?.(),
    budgets: fullest(sources.budgets?.() ?? [], mostBudgets),
  };
}

function withHealth(mirror: MirrorTally, known: readonly EndpointSnapshot[]): MirrorStatus {
  const { backend, model } = mirror;
  const health = known.find((one) => one.backend === backend && one.model === model);
  if (!health) return mirror;
  const { state, outForMs, lastFailure } = health;
  return { ...mirror, state, outForMs, ...(lastFailure && { lastFailure }) };
}
