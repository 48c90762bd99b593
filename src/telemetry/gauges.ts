/** What is looked up when somebody asks: targets, stores, and the process itself. */
import { performance } from "node:perf_hooks";
import type { LimitStore } from "../core/limits/store.js";
import type { EndpointSnapshot, RoutingSnapshot } from "../core/routing/snapshot.js";
import type { Attributes, Metric, Point } from "./instruments.js";

/** Where the numbers come from. */
export interface Sources {
  /** Calls that run now. */
  running(): number;
  routing(): RoutingSnapshot;
  readonly limits?: Pick<LimitStore, "state"> | undefined;
  /** Where answers for `Idempotency-Key` are, if not in this process. */
  readonly answers?: Outages | undefined;
  /** Where images are, if in a bucket. */
  readonly images?: Outages | undefined;
  /** The database, as far as tokens are concerned. */
  readonly tokens?: Outages | undefined;
  /** The database, as far as usage is concerned. */
  readonly usage?:
    | (Outages & { readonly unwritten: number; readonly lostTotal: number })
    | undefined;
}

/** How a store is. */
interface Outages {
  readonly away: boolean;
  /** How often it went away. */
  readonly outages: number;
}

const one = (value: number, attributes: Attributes = {}): Point[] => [{ attributes, value }];

const metric =
  (type: "gauge" | "counter") =>
  (name: string, unit: string, description: string, points: Point[]): Metric => ({
    type,
    name,
    unit,
    description,
    points,
  });
const gauge = metric("gauge");
const counter = metric("counter");

/** Everything that the sources tell now. */
export function gauges(sources: Sources): Metric[] {
  const { limits, answers, images, tokens, usage } = sources;
  const { endpoints, retries } = sources.routing();
  const perTarget = (value: (endpoint: EndpointSnapshot) => number) =>
    endpoints.map((endpoint) => ({
      attributes: {
        "lintel.backend": endpoint.backend,
        "gen_ai.request.model": endpoint.model,
      },
      value: value(endpoint),
    }));
  const perStore = (value: (store: Outages) => number) => [
    ...(answers ? one(value(answers), { "lintel.store": "answers" }) : []),
    ...(images ? one(value(images), { "lintel.store": "images" }) : []),
    ...(tokens ? one(value(tokens), { "lintel.store": "tokens" }) : []),
    ...(usage ? one(value(usage), { "lintel.store": "usage" }) : []),
  ];
  return [
    gauge("lintel.requests.active", "{request}", "Calls that run now.", one(sources.running())),
    gauge(
      "lintel.target.available",
      "{target}",
      "1 while a target takes calls or the next one would try it; 0 while it is out, being tried, or rests.",
      perTarget(({ state }) => Number(state === "in" || state === "due")),
    ),
    gauge(
      "lintel.target.active",
      "{request}",
      "Calls that run at a target now.",
      perTarget(({ inFlight }) => inFlight),
    ),
    gauge(
      "lintel.target.waiting",
      "{request}",
      "Calls that wait for room at a target now.",
      perTarget(({ waiting }) => waiting),
    ),
    counter(
      "lintel.target.failures",
      "{request}",
      "Questions that a target failed.",
      perTarget(({ failures }) => failures),
    ),
    counter(
      "lintel.retries.denied",
      "{request}",
      "Retries that the budget did not allow.",
      one(retries.denied),
    ),
    gauge("lintel.store.available", "{store}", "1 while a store answers, 0 while it is away.", [
      ...(limits ? one(Number(limits.state.available), { "lintel.store": "limits" }) : []),
      ...perStore(({ away }) => Number(!away)),
    ]),
    counter("lintel.store.outages", "{outage}", "How often a store went away.", [
      ...(limits ? one(limits.state.outages, { "lintel.store": "limits" }) : []),
      ...perStore(({ outages }) => outages),
    ]),
    counter(
      "lintel.store.decided_without",
      "{decision}",
      "Decisions about limits that were made while the store was away.",
      limits ? one(limits.state.decidedWithout) : [],
    ),
    gauge(
      "lintel.usage.unwritten",
      "{record}",
      "Records of calls that are only in memory: the disk does not take them.",
      usage ? one(usage.unwritten) : [],
    ),
    counter(
      "lintel.usage.lost",
      "{record}",
      "Records of calls that neither the disk nor the database took.",
      usage ? one(usage.lostTotal) : [],
    ),
    ...ofProcess(),
  ];
}

function ofProcess(): Metric[] {
  const { user, system } = process.cpuUsage();
  const { loopStart, idleTime: idle } = performance.nodeTiming;
  const active = Math.max(0, performance.now() - loopStart - idle);
  return [
    counter("process.cpu.time", "s", "CPU time of the process.", [
      ...one(user / 1e6, { "cpu.mode": "user" }),
      ...one(system / 1e6, { "cpu.mode": "system" }),
    ]),
    gauge("process.memory.usage", "By", "Memory of the process.", one(process.memoryUsage.rss())),
    gauge("process.uptime", "s", "How long the process runs.", one(process.uptime())),
    gauge(
      "v8js.memory.heap.used",
      "By",
      "Heap that is in use.",
      one(process.memoryUsage().heapUsed),
    ),
    counter("nodejs.eventloop.time", "s", "Time that the event loop was idle or at work.", [
      ...one(idle / 1000, { "nodejs.eventloop.state": "idle" }),
      ...one(active / 1000, { "nodejs.eventloop.state": "active" }),
    ]),
  ];
}
