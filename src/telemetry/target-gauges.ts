/** What is looked up of targets and mirrors. */
import type { EndpointSnapshot, RoutingSnapshot } from "../core/routing/snapshot.js";
import type { Metric } from "./instruments.js";
import { counter, gauge, one } from "./looked-up.js";

/** Everything that routing tells now. */
export function ofTargets({ endpoints, mirrors, retries }: RoutingSnapshot): Metric[] {
  return [
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
  ];
}

const per = (places: readonly EndpointSnapshot[], value: (endpoint: EndpointSnapshot) => number) =>
  places.map((endpoint) => ({
    attributes: {
      "lintel.backend": endpoint.backend,
      "gen_ai.request.model": endpoint.model,
    },
    value: value(endpoint),
  }));

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
