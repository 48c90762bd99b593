/** What `lintel top` shows: a running gateway as text. */

import type { BudgetUse } from "../core/limits/budget-use.js";
import type { Percentiles } from "../core/routing/latency.js";
import type { EndpointSnapshot } from "../core/routing/snapshot.js";
import type { MirrorStatus, Status } from "../telemetry/status.js";
import type { ModelTally } from "../telemetry/tally.js";
import { minuteOf, table } from "./table.js";

/** All of it, as lines of text. */
export function topView(status: Status): string {
  const { models, targets, mirrors = [], away, lastReload, budgets = [] } = status;
  const parts = [
    headline(status),
    ...(away.length > 0 ? [`Away: ${away.join(", ")}`] : []),
    ...(lastReload?.successful === false
      ? ["The last reload failed: the configuration before stays."]
      : []),
    ...(lastReload?.restart ? [`Changes that wait for a restart: ${lastReload.restart}`] : []),
    models.length > 0 ? table(modelHeading, models.map(modelRow)) : "No calls yet.",
    targets.length > 0 ? table(targetHeading, targets.map(targetRow)) : "No targets.",
    ...(mirrors.length > 0 ? [table(mirrorHeading, mirrorRows(mirrors, models))] : []),
    ...(budgets.length > 0 ? [table(budgetHeading, budgets.map(budgetRow))] : []),
  ];
  return parts.join("\n\n");
}

/** Text over what was there, cut to the window. */
export function screen(text: string, window: { rows: number; columns: number }): string {
  // Serial lines, and containers at first, say that they have no size.
  const rows = window.rows || 24;
  const columns = window.columns || 80;
  const lines = text.split("\n").slice(0, Math.max(1, rows - 1));
  const cut = lines.map((line) => `${line.slice(0, columns)}\x1b[K\n`);
  return `\x1b[H${cut.join("")}\x1b[J`;
}

function headline(status: Status): string {
  const { version, pid, uptime, running, models, retries, workers } = status;
  const sum = (of: (model: ModelTally) => number) => models.reduce((all, it) => all + of(it), 0);
  return [
    `lintel ${version}`,
    `pid ${pid}`,
    ...(workers === undefined ? [] : [`${workers} workers`]),
    `up ${span(uptime)}`,
    `${running} running`,
    `${rate(sum((model) => model.requestRate))} requests/s`,
    `${rate(sum((model) => model.tokenRate))} tokens/s`,
    ...(retries.denied > 0 ? [`${retries.denied} retries denied`] : []),
  ].join("   ");
}

const modelHeading = [
  "MODEL",
  "REQ/S",
  "REQUESTS",
  "FAILED",
  "CANCELLED",
  "CACHE HITS",
  "TOK/S",
  "TOKENS",
  "IMAGES",
  "FIRST P50",
  "P95",
  "TOTAL P50",
  "P95",
];

const modelRow = (it: ModelTally): string[] => [
  it.model === "" ? "(none)" : it.model,
  rate(it.requestRate),
  String(it.requests),
  String(it.failed),
  String(it.cancelled),
  String(it.cacheHits ?? 0),
  rate(it.tokenRate),
  String(it.promptTokens + it.completionTokens),
  String(it.images),
  ...times(it.firstMs),
  ...times(it.totalMs),
];

const targetHeading = [
  "TARGET",
  "MODEL",
  "STATE",
  "RUNNING",
  "WAITING",
  "QUOTA",
  "CALLS",
  "FAILED",
  "FIRST P50",
  "P95",
  "TOTAL P50",
  "P95",
  "LAST FAILURE",
];

const targetRow = (it: EndpointSnapshot): string[] => [
  it.backend,
  it.model,
  stateOf(it),
  it.maxInFlight === undefined ? String(it.inFlight) : `${it.inFlight}/${it.maxInFlight}`,
  String(it.waiting),
  fullest(it.quota),
  String(it.attempts),
  String(it.failures),
  ...times(it.firstMs),
  ...times(it.totalMs),
  it.lastFailure ?? "",
];

const mirrorHeading = [
  "MIRRORED",
  "BACKEND",
  "MODEL",
  "STATE",
  "RUNNING",
  "CALLS",
  "FAILED",
  "PASSED OVER",
  "TOKENS/ANSWER",
  "IMAGES",
  "FIRST P50",
  "P95",
  "TOTAL P50",
  "P95",
  "LAST FAILURE",
];

/** Mirrors of a model below what callers got of it, in the same columns. */
function mirrorRows(mirrors: readonly MirrorStatus[], models: readonly ModelTally[]): string[][] {
  return mirrors.flatMap((it, i) => {
    const own = models.find(({ model }) => model === it.mirrored);
    const first = mirrors[i - 1]?.mirrored !== it.mirrored;
    return [...(first && own ? [originalRow(own)] : []), mirrorRow(it)];
  });
}

const originalRow = (it: ModelTally): string[] => [
  it.model,
  "(callers)",
  ...["", "", ""],
  String(it.requests),
  String(it.failed),
  "",
  mean(it.answerTokens, it.answers),
  String(it.images),
  ...times(it.firstMs),
  ...times(it.totalMs),
  "",
];

const mirrorRow = (it: MirrorStatus): string[] => [
  it.mirrored,
  it.backend,
  it.model,
  it.state === undefined ? "" : stateOf({ state: it.state, outForMs: it.outForMs ?? 0 }),
  String(it.running),
  String(it.calls),
  String(it.failed),
  passedOver(it),
  mean(it.answerTokens, it.answers),
  String(it.images),
  ...times(it.firstMs),
  ...times(it.totalMs),
  it.lastFailure ?? "",
];

const budgetHeading = ["BUDGET", "OF", "USED", "SPENT", "AMOUNT", "PERIOD", "BEGINS ANEW"];

const budgetRow = ({ scope, name, caller, team, ...it }: BudgetUse): string[] => [
  scope,
  [caller ?? team ?? [], name].flat().join(", "),
  // Of 0.29 there would be 28.999… in a hundred.
  `${Math.floor(Number((it.ratio * 100).toPrecision(12)))}%`,
  amount(it.used),
  amount(it.amount),
  it.period,
  it.endsAt === undefined ? "never" : minuteOf(nearestMinute(it.endsAt)),
];

const amount = (spend: number) => String(Number(spend.toPrecision(6)));

/** As a store tells it whose clock is another one, a period ends some moments before or after a full minute. */
const nearestMinute = (ms: number) => Math.round(ms / 60_000) * 60_000;

const stateOf = ({ state, outForMs }: Pick<EndpointSnapshot, "state" | "outForMs">) =>
  outForMs === 0 ? state : `${state} ${Math.ceil(outForMs / 1000)}s`;

function passedOver({ passedOver }: MirrorStatus): string {
  const counts = Object.entries(passedOver).sort(([, a], [, b]) => b - a);
  const all = counts.reduce((sum, [, count]) => sum + count, 0);
  return all === 0 ? "0" : `${all} (${counts.map(([why]) => why).join(", ")})`;
}

/** Of its parts the one of which most is used, in percent. */
function fullest({ requests, tokens }: NonNullable<EndpointSnapshot["quota"]> = {}): string {
  const shares = [requests, tokens].flatMap((part) => (part ? part.used / part.limit : []));
  return shares.length === 0 ? "" : `${Math.round(100 * Math.max(...shares))}%`;
}

/** Images have none. */
const mean = (sum = 0, count = 0) => (sum === 0 ? "" : String(Math.round(sum / count)));

/** Milliseconds. */
const times = (percentiles: Percentiles | undefined): [string, string] =>
  percentiles ? [ms(percentiles.p50), ms(percentiles.p95)] : ["", ""];

const ms = (time: number) => (time < 10 ? time.toFixed(1) : String(Math.round(time)));

const rate = (perSecond: number) =>
  perSecond === 0 ? "0" : perSecond < 100 ? perSecond.toFixed(1) : String(Math.round(perSecond));

function span(seconds: number): string {
  const minutes = Math.floor(seconds / 60);
  if (minutes < 1) return `${Math.floor(seconds)}s`;
  if (minutes < 60) return `${minutes}m`;
  const hours = Math.floor(minutes / 60);
  return hours < 24 ? `${hours}h ${minutes % 60}m` : `${Math.floor(hours / 24)}d ${hours % 24}h`;
}
