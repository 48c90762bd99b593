/** Several workers at a glance, as one gateway. */
import type { Percentiles } from "../core/routing/latency.js";
import type { EndpointSnapshot } from "../core/routing/snapshot.js";
import type { Status } from "./status.js";
import type { ModelTally } from "./tally.js";

/** How well a target is, the worst first. */
const states: readonly EndpointSnapshot["state"][] = ["out", "resting", "probing", "due", "in"];

/**
 * What all of them do together: counts and rates are added up; of times, and of a target's states,
 * the worst is told.
 * @param all of one gateway, at least one
 */
export function mergedStatus(all: readonly [Status, ...Status[]]): Status {
  const [first, ...others] = all;
  if (others.length === 0) return first;
  return {
    version: first.version,
    pid: first.gateway,
    gateway: first.gateway,
    workers: all.length,
    uptime: Math.max(...all.map(({ uptime }) => uptime)),
    running: sum(all, ({ running }) => running),
    models: grouped(
      all.flatMap(({ models }) => models),
      ({ model }) => model,
      mergedModel,
    ),
    targets: grouped(
      all.flatMap(({ targets }) => targets),
      ({ backend, model }) => JSON.stringify([backend, model]),
      mergedTarget,
    ),
    retries: {
      requests: sum(all, ({ retries }) => retries.requests),
      retries: sum(all, ({ retries }) => retries.retries),
      denied: sum(all, ({ retries }) => retries.denied),
    },
    away: [...new Set(all.flatMap(({ away }) => away))],
    // It is told to all of them.
    lastReload: first.lastReload,
  };
}

function mergedModel(all: readonly [ModelTally, ...ModelTally[]]): ModelTally {
  const added = (of: (tally: ModelTally) => number) => sum(all, of);
  return {
    model: all[0].model,
    requests: added(({ requests }) => requests),
    failed: added(({ failed }) => failed),
    cancelled: added(({ cancelled }) => cancelled),
    cacheHits: added(({ cacheHits = 0 }) => cacheHits),
    promptTokens: added(({ promptTokens }) => promptTokens),
    completionTokens: added(({ completionTokens }) => completionTokens),
    images: added(({ images }) => images),
    requestRate: added(({ requestRate }) => requestRate),
    tokenRate: added(({ tokenRate }) => tokenRate),
    ...slowest(all),
  };
}

function mergedTarget(all: readonly [EndpointSnapshot, ...EndpointSnapshot[]]): EndpointSnapshot {
  const [first] = all;
  const worst = all.reduce((a, b) => (states.indexOf(b.state) < states.indexOf(a.state) ? b : a));
  const failure = worst.lastFailure ?? all.find((one) => one.lastFailure)?.lastFailure;
  return {
    backend: first.backend,
    model: first.model,
    state: worst.state,
    outForMs: worst.outForMs,
    inFlight: sum(all, ({ inFlight }) => inFlight),
    ...(first.maxInFlight !== undefined && {
      maxInFlight: sum(all, ({ maxInFlight = 0 }) => maxInFlight),
    }),
    waiting: sum(all, ({ waiting }) => waiting),
    attempts: sum(all, ({ attempts }) => attempts),
    failures: sum(all, ({ failures }) => failures),
    ...(failure && { lastFailure: failure }),
    ...slowest(all),
  };
}

interface Timed {
  readonly firstMs?: Percentiles;
  readonly totalMs?: Percentiles;
}

/** Percentiles can't be added up: of each the greatest. */
function slowest(all: readonly Timed[]): Timed {
  const firstMs = greatest(all.flatMap((one) => one.firstMs ?? []));
  const totalMs = greatest(all.flatMap((one) => one.totalMs ?? []));
  return { ...(firstMs && { firstMs }), ...(totalMs && { totalMs }) };
}

function greatest(all: readonly Percentiles[]): Percentiles | undefined {
  if (all.length === 0) return undefined;
  const of = (name: keyof Percentiles) => Math.max(...all.map((one) => one[name]));
  return { p50: of("p50"), p95: of("p95"), p99: of("p99") };
}

const sum = <T>(all: readonly T[], of: (one: T) => number) =>
  all.reduce((total, one) => total + of(one), 0);

/** Merges what has the same key; in the order of the keys. */
function grouped<T>(
  all: readonly T[],
  keyOf: (one: T) => string,
  merge: (same: readonly [T, ...T[]]) => T,
): T[] {
  const groups = new Map<string, [T, ...T[]]>();
  for (const one of all) {
    const key = keyOf(one);
    const group = groups.get(key);
    if (group) group.push(one);
    else groups.set(key, [one]);
  }
  return [...groups].sort(([a], [b]) => (a < b ? -1 : 1)).map(([, group]) => merge(group));
}
