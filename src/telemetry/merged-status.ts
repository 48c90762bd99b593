/** Several workers at a glance, as one gateway. */
import { type BudgetUse, fullest } from "../core/limits/budget-use.js";
import type { Percentiles } from "../core/routing/latency.js";
import type { QuotaPart } from "../core/routing/quota.js";
import type { EndpointSnapshot } from "../core/routing/snapshot.js";
import { mirrorKey } from "./mirror-tally.js";
import { type MirrorStatus, mostBudgets, type Status } from "./status.js";
import type { ModelTally } from "./tally.js";

/** How well a target is, the worst first. */
const states: readonly EndpointSnapshot["state"][] = [
  "out",
  "resting",
  "probing",
  "used_up",
  "due",
  "in",
];

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
    mirrors: grouped(
      all.flatMap(({ mirrors = [] }) => mirrors),
      mirrorKey,
      mergedMirror,
    ),
    retries: {
      requests: sum(all, ({ retries }) => retries.requests),
      retries: sum(all, ({ retries }) => retries.retries),
      denied: sum(all, ({ retries }) => retries.denied),
    },
    away: [...new Set(all.flatMap(({ away }) => away))],
    // It is told to all of them.
    lastReload: first.lastReload,
    budgets: mergedBudgets(all.flatMap(({ budgets = [] }) => budgets)),
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
    answers: added(({ answers = 0 }) => answers),
    answerTokens: added(({ answerTokens = 0 }) => answerTokens),
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
  return {
    backend: first.backend,
    model: first.model,
    ...mergedHealth(all),
    inFlight: sum(all, ({ inFlight }) => inFlight),
    ...(first.maxInFlight !== undefined && {
      maxInFlight: sum(all, ({ maxInFlight = 0 }) => maxInFlight),
    }),
    ...mergedQuota(all),
    waiting: sum(all, ({ waiting }) => waiting),
    attempts: sum(all, ({ attempts }) => attempts),
    failures: sum(all, ({ failures }) => failures),
    ...slowest(all),
  };
}

/** Each tells what all of them used, as far as it heard: the most that one knows of. */
function mergedQuota(all: readonly EndpointSnapshot[]): Pick<EndpointSnapshot, "quota"> {
  const most = (of: "requests" | "tokens") =>
    all.reduce<QuotaPart | undefined>((a, { quota }) => {
      const b = quota?.[of];
      return a && b && a.used > b.used ? a : (b ?? a);
    }, undefined);
  const [requests, tokens] = [most("requests"), most("tokens")];
  if (!requests && !tokens) return {};
  return { quota: { ...(requests && { requests }), ...(tokens && { tokens }) } };
}

/** Each tells what all of them used, as of its own last call: the most that one knows of. */
function mergedBudgets(all: readonly BudgetUse[]): BudgetUse[] {
  const keyOf = ({ scope, name, caller, team, period }: BudgetUse) =>
    JSON.stringify([scope, name, caller, team, period]);
  const merged = grouped(all, keyOf, (same) => same.reduce((a, b) => (b.used > a.used ? b : a)));
  return fullest(merged, mostBudgets);
}

function mergedMirror(all: readonly [MirrorStatus, ...MirrorStatus[]]): MirrorStatus {
  const [{ mirrored, backend, model }] = all;
  const [known, ...others] = all.filter(hasHealth);
  const passedOver: Record<string, number> = {};
  for (const [why, count] of all.flatMap((one) => Object.entries(one.passedOver))) {
    passedOver[why] = (passedOver[why] ?? 0) + count;
  }
  return {
    ...{ mirrored, backend, model, passedOver },
    ...(known && mergedHealth([known, ...others])),
    running: sum(all, ({ running }) => running),
    calls: sum(all, ({ calls }) => calls),
    failed: sum(all, ({ failed }) => failed),
    answers: sum(all, ({ answers }) => answers),
    answerTokens: sum(all, ({ answerTokens }) => answerTokens),
    images: sum(all, ({ images }) => images),
    ...slowest(all),
  };
}

type Health = Pick<EndpointSnapshot, "state" | "outForMs" | "lastFailure">;

const hasHealth = (mirror: MirrorStatus): mirror is MirrorStatus & Health =>
  mirror.state !== undefined;

/** The worst. */
function mergedHealth(all: readonly [Health, ...Health[]]): Health {
  const worst = all.reduce((a, b) => (states.indexOf(b.state) < states.indexOf(a.state) ? b : a));
  const lastFailure = worst.lastFailure ?? all.find((one) => one.lastFailure)?.lastFailure;
  const { state, outForMs } = worst;
  return { state, outForMs, ...(lastFailure && { lastFailure }) };
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
