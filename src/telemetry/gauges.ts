/** What is looked up when somebody asks: targets, stores, the configuration, and the process itself. */
import type { CertificateEnd } from "../config/certificates.js";
import type { AdminCalls } from "../core/admin/administration.js";
import type { EngineExits } from "../core/backend.js";
import type { BudgetUse } from "../core/limits/budgets.js";
import type { LimitStore } from "../core/limits/store.js";
import type { EndpointSnapshot, RoutingSnapshot } from "../core/routing/snapshot.js";
import type { IssuerState } from "../oidc/callers.js";
import type { LastReload } from "../reloading.js";
import type { Attributes, Metric } from "./instruments.js";
import { counter, gauge, one } from "./looked-up.js";
import { ofProcess } from "./process.js";

/** Where the numbers come from. */
export interface Sources {
  /** Calls that run now. */
  running(): number;
  routing(): RoutingSnapshot;
  readonly limits?: Pick<LimitStore, "state"> | undefined;
  /** How much of budgets is used. */
  budgets?(): readonly BudgetUse[];
  /** What became of alerts of budgets; nothing: nobody is told of any. */
  alerts?(): { readonly sent: number; readonly lost: number } | undefined;
  /** How calls of administration ended; nothing: there is none. */
  admin?(): readonly AdminCalls[] | undefined;
  /** Backends whose models run in a process of their own, and how often that ended. */
  engines?(): readonly { readonly backend: string; readonly exits: EngineExits }[];
  /** Where answers for `Idempotency-Key` are, if not in this process. */
  readonly answers?: Outages | undefined;
  /** Where answers are kept for who asks the same, if not in this process. */
  readonly cache?: Outages | undefined;
  /** Where images are, if in a bucket. */
  readonly images?: Outages | undefined;
  /** The database, as far as tokens are concerned. */
  readonly tokens?: Outages | undefined;
  /** The database, as far as usage is concerned. */
  readonly usage?:
    | (Outages & {
        readonly waitingBytes: number;
        readonly mostWaitingBytes: number;
        readonly unwritten: number;
        readonly lostTotal: number;
      })
    | undefined;
  /** Processes that are to serve at the same addresses. */
  readonly workers?: number | undefined;
  /** Those whose JWTs let callers in. */
  issuers?(): readonly IssuerState[];
  lastReload?(): LastReload;
  /** Of the gateway's own certificates. */
  certificates?(): readonly CertificateEnd[];
}

/** How a store is. */
interface Outages {
  readonly away: boolean;
  /** How often it went away. */
  readonly outages: number;
}

/** Everything that the sources tell now. */
export function gauges(sources: Sources): Metric[] {
  const { limits, answers, cache, images, tokens, usage } = sources;
  const { endpoints, mirrors, retries } = sources.routing();
  const per = (
    places: readonly EndpointSnapshot[],
    value: (endpoint: EndpointSnapshot) => number,
  ) =>
    places.map((endpoint) => ({
      attributes: {
        "lintel.backend": endpoint.backend,
        "gen_ai.request.model": endpoint.model,
      },
      value: value(endpoint),
    }));
  const perStore = (value: (store: Outages) => number) => [
    ...(answers ? one(value(answers), { "lintel.store": "answers" }) : []),
    ...(cache ? one(value(cache), { "lintel.store": "cache" }) : []),
    ...(images ? one(value(images), { "lintel.store": "images" }) : []),
    ...(tokens ? one(value(tokens), { "lintel.store": "tokens" }) : []),
    ...(usage ? one(value(usage), { "lintel.store": "usage" }) : []),
  ];
  return [
    gauge("lintel.requests.active", "{request}", "Calls that run now.", one(sources.running())),
    gauge(
      "lintel.target.available",
      "{target}",
      "1 while a target takes calls or the next one would try it, whatever is left of its quota; 0 while it is out, being tried, or rests.",
      per(endpoints, takesCalls),
    ),
    gauge(
      "lintel.target.active",
      "{request}",
      "Calls that run at a target now.",
      per(endpoints, ({ inFlight }) => inFlight),
    ),
    gauge(
      "lintel.target.waiting",
      "{request}",
      "Calls that wait for room at a target now.",
      per(endpoints, ({ waiting }) => waiting),
    ),
    gauge(
      "lintel.target.quota.used",
      "1",
      "Share of a target's quota that was used in the last minute.",
      endpoints.flatMap(quotaShares),
    ),
    counter(
      "lintel.target.failures",
      "{request}",
      "Questions that a target failed.",
      per(endpoints, ({ failures }) => failures),
    ),
    gauge(
      "lintel.mirror.available",
      "{target}",
      "1 while a mirror that was asked takes calls or the next one would try it, else 0.",
      per(mirrors, takesCalls),
    ),
    gauge(
      "lintel.mirror.active",
      "{request}",
      "Mirrored calls that run at a mirror now.",
      per(mirrors, ({ inFlight }) => inFlight),
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
      "lintel.budget.used",
      "1",
      "Share of a budget that is used, with what calls that run have reserved.",
      (sources.budgets?.() ?? []).map(({ ratio, ...budget }) => ({
        attributes: attributesOf(budget),
        value: ratio,
      })),
    ),
    counter(
      "lintel.budget.alerts",
      "{alert}",
      "Alerts of budgets that were sent, and that could not be.",
      Object.entries(sources.alerts?.() ?? {}).flatMap(([result, count]) =>
        one(count, { "lintel.alert.result": result }),
      ),
    ),
    counter(
      "lintel.admin.calls",
      "{request}",
      "Calls of administration, by how they ended.",
      (sources.admin?.() ?? []).map(({ method, code, calls }) => ({
        attributes: { "lintel.admin.method": method, "lintel.outcome": code },
        value: calls,
      })),
    ),
    counter(
      "lintel.engine.exits",
      "{process}",
      "How often the process of embedded models ended though nobody asked it to.",
      (sources.engines?.() ?? []).flatMap(({ backend, exits }) =>
        Object.entries(exits).map(([reason, count]) => ({
          attributes: { "lintel.backend": backend, "lintel.engine.reason": reason },
          value: count,
        })),
      ),
    ),
    gauge(
      "lintel.usage.waiting",
      "By",
      "Records of calls that wait on the disk: the database does not take them.",
      usage ? one(usage.waitingBytes) : [],
    ),
    gauge(
      "lintel.usage.waiting.max",
      "By",
      "How much of them may wait there.",
      usage ? one(usage.mostWaitingBytes) : [],
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
    gauge(
      "lintel.issuer.available",
      "{issuer}",
      "1 while an issuer's keys can be read, 0 while they can't.",
      (sources.issuers?.() ?? []).map(({ name, away }) => ({
        attributes: { "lintel.issuer": name },
        value: Number(!away),
      })),
    ),
    gauge(
      "lintel.workers",
      "{process}",
      "Processes that are to serve at the same addresses, this one included.",
      sources.workers === undefined ? [] : one(sources.workers),
    ),
    ...ofConfiguration(sources),
    ...ofProcess(),
  ];
}

/** One whose quota is used up is well: that is no outage. */
const takesCalls = ({ state }: EndpointSnapshot) =>
  Number(state === "in" || state === "due" || state === "used_up");

const quotaShares = ({ backend, model, quota = {} }: EndpointSnapshot) =>
  Object.entries(quota).map(([quantity, { used, limit }]) => ({
    attributes: {
      "lintel.backend": backend,
      "gen_ai.request.model": model,
      "lintel.limit.quantity": quantity,
    },
    value: used / limit,
  }));

/** What names are called in which scope. */
const nameAttributes = {
  caller: "lintel.caller",
  team: "lintel.team",
  model: "gen_ai.request.model",
} as const;

const attributesOf = ({ scope, name, period }: Omit<BudgetUse, "ratio">): Attributes => ({
  "lintel.limit.scope": scope,
  ...(scope !== "global" && { [nameAttributes[scope]]: name }),
  "lintel.budget.period": period,
});

function ofConfiguration(sources: Sources): Metric[] {
  const reload = sources.lastReload?.();
  return [
    gauge(
      "lintel.config.last_reload_successful",
      "{reload}",
      "1 if the configuration was taken over when it was last reloaded, 0 if the one before stays.",
      reload ? one(Number(reload.successful)) : [],
    ),
    gauge(
      "lintel.config.restart_pending",
      "{section}",
      "Sections of the configuration that were changed and apply after a restart.",
      reload ? one(reload.restart) : [],
    ),
    gauge(
      "lintel.certificate.not_after",
      "s",
      "When the first certificate of a file ends, in seconds since 1970.",
      (sources.certificates?.() ?? []).map(({ field, notAfter }) => ({
        attributes: { "lintel.certificate": field },
        value: notAfter,
      })),
    ),
  ];
}
