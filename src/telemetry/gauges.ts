/** What is looked up when somebody asks. */
import type { CertificateEnd } from "../certificates.js";
import type { AdminCalls } from "../core/admin/administration.js";
import type { EngineExits } from "../core/backend.js";
import type { BudgetUse } from "../core/limits/budget-use.js";
import type { RoutingSnapshot } from "../core/routing/snapshot.js";
import type { IssuerState } from "../oidc/callers.js";
import type { LastReload } from "../reloading.js";
import type { Attributes, Metric } from "./instruments.js";
import { counter, gauge, one } from "./looked-up.js";
import { ofProcess } from "./process.js";
import { ofStores, type Stores } from "./store-gauges.js";
import { ofTargets } from "./target-gauges.js";

/** Where the numbers come from. */
export interface Sources extends Stores {
  /** Calls that run now. */
  running(): number;
  routing(): RoutingSnapshot;
  /** How much of budgets is used. */
  budgets?(): readonly BudgetUse[];
  /** What became of alerts of budgets; nothing: nobody is told of any. */
  alerts?(): { readonly sent: number; readonly lost: number } | undefined;
  /** How calls of administration ended; nothing: there is none. */
  admin?(): readonly AdminCalls[] | undefined;
  /** Backends whose models run in a process of their own, and how often that ended. */
  engines?(): readonly { readonly backend: string; readonly exits: EngineExits }[];
  /** Processes that are to serve at the same addresses. */
  readonly workers?: number | undefined;
  /** Those whose JWTs let callers in. */
  issuers?(): readonly IssuerState[];
  lastReload?(): LastReload;
  /** Of the gateway's own certificates. */
  certificates?(): readonly CertificateEnd[];
}

/** Everything that the sources tell now. */
export function gauges(sources: Sources): Metric[] {
  return [
    gauge("lintel.requests.active", "{request}", "Calls that run now.", one(sources.running())),
    ...ofTargets(sources.routing()),
    ...ofStores(sources),
    gauge(
      "lintel.budget.used",
      "1",
      "Share of a budget that is used, with what calls that run have reserved.",
      (sources.budgets?.() ?? []).map((budget) => ({
        attributes: attributesOf(budget),
        value: budget.ratio,
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

/** What names are called in which scope. */
const nameAttributes = {
  caller: "lintel.caller",
  team: "lintel.team",
  model: "gen_ai.request.model",
  caller_model: "gen_ai.request.model",
  team_model: "gen_ai.request.model",
} as const;

const attributesOf = ({ scope, name, caller, team, period }: BudgetUse): Attributes => ({
  "lintel.limit.scope": scope,
  ...(scope !== "global" && { [nameAttributes[scope]]: name }),
  ...(caller !== undefined && { "lintel.caller": caller }),
  ...(team !== undefined && { "lintel.team": team }),
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
