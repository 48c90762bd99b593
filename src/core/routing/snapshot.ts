/** How routing stands, as plain data, for whoever looks at a running gateway. */
import type { ErrorCode } from "../error-table.js";
import type { Endpoint } from "./endpoint.js";
import type { Percentiles } from "./latency.js";
import type { QuotaSnapshot } from "./quota.js";

/** One endpoint; times in milliseconds. */
export interface EndpointSnapshot {
  readonly backend: string;
  readonly model: string;
  /**
   * `in`: it takes calls; `out`: it failed too often, or its health check fails;
   * `due`: it was out, and the next call tries it; `probing`: one does;
   * `resting`: it asked to be left alone for a while, or keeps refusing; `used_up`: nothing is left of its quota.
   */
  readonly state: "in" | "out" | "due" | "probing" | "resting" | "used_up";
  /** Until it is tried again; 0 while it is in or due. */
  readonly outForMs: number;
  readonly inFlight: number;
  /** Absent: any number. */
  readonly maxInFlight?: number;
  /** Absent: none. */
  readonly quota?: QuotaSnapshot;
  readonly waiting: number;
  /** Attempts that ended, since the start. */
  readonly attempts: number;
  /** Those that the model server failed. */
  readonly failures: number;
  /** Code of the last failure. */
  readonly lastFailure?: ErrorCode;
  /** To the first message of streamed answers, of the last 128; absent: none yet. */
  readonly firstMs?: Percentiles;
  /** To the end of complete answers, of the last 128; absent: none yet. */
  readonly totalMs?: Percentiles;
}

/** All of it. */
export interface RoutingSnapshot {
  /** By backend and model. */
  readonly endpoints: readonly EndpointSnapshot[];
  /** Models as mirrors, of those that were asked; nobody waits there. By backend and model. */
  readonly mirrors: readonly EndpointSnapshot[];
  readonly retries: {
    /** Within the window of the budget. */
    readonly requests: number;
    readonly retries: number;
    /** Retries that the budget did not allow, since the start. */
    readonly denied: number;
  };
}

/** How an endpoint stands. @param now as the clock says */
export function snapshotOf(endpoint: Endpoint, now: number): EndpointSnapshot {
  const { backend, model, inFlight, maxInFlight, quota, queue, first, whole } = endpoint;
  const { attempts, failures, lastFailure } = endpoint.health.tally;
  const state = stateOf(endpoint, now);
  const firstMs = first.percentiles();
  const totalMs = whole.percentiles();
  return {
    backend,
    model,
    state,
    outForMs: state === "in" ? 0 : Math.max(0, backAt(endpoint, now) - now),
    inFlight,
    ...(Number.isFinite(maxInFlight) && { maxInFlight }),
    ...(quota && { quota: quota.snapshot(now) }),
    waiting: queue.size,
    attempts,
    failures,
    ...(lastFailure && { lastFailure: lastFailure.code }),
    ...(firstMs && { firstMs }),
    ...(totalMs && { totalMs }),
  };
}

const backAt = (endpoint: Endpoint, now: number) =>
  Math.max(endpoint.usableAt(now), endpoint.refusals.until);

function stateOf(endpoint: Endpoint, now: number): EndpointSnapshot["state"] {
  const { circuit } = endpoint.health;
  if (circuit.out && circuit.probing) return "probing";
  if (endpoint.isUsedUp(now)) return "used_up";
  const resting = endpoint.health.isResting(now) || endpoint.refusals.waits(now);
  if (!circuit.out) return resting ? "resting" : "in";
  return circuit.due(now) && !resting ? "due" : "out";
}
