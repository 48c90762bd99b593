/** How a gateway stands, as administration tells it, and back, for `lintel top` before a gateway elsewhere. */
import { create } from "@bufbuild/protobuf";
import { durationFromMs, durationMs, timestampFromMs, timestampMs } from "@bufbuild/protobuf/wkt";
import {
  type GetStatusResponse,
  GetStatusResponseSchema,
  TargetState,
} from "../../gen/lintel/admin/v1/status_pb.js";
import type { ErrorCode } from "../core/error-table.js";
import type { AlertScope } from "../core/limits/alerts.js";
import type { BudgetUse } from "../core/limits/budget-use.js";
import type { BudgetPeriod } from "../core/limits/settings.js";
import type { Percentiles } from "../core/routing/latency.js";
import type { QuotaPart } from "../core/routing/quota.js";
import type { EndpointSnapshot } from "../core/routing/snapshot.js";
import type { MirrorStatus, Status } from "./status.js";

const states = {
  in: TargetState.IN,
  out: TargetState.OUT,
  due: TargetState.DUE,
  probing: TargetState.PROBING,
  resting: TargetState.RESTING,
  used_up: TargetState.USED_UP,
} as const satisfies Record<EndpointSnapshot["state"], TargetState>;

const stateWords = new Map(
  Object.entries(states).map(([word, state]) => [state, word as EndpointSnapshot["state"]]),
);

/** Every count of a message is a whole number of 64 bits. */
const counts = <N extends string>(of: Readonly<Record<N, number>>, names: readonly N[]) =>
  Object.fromEntries(names.map((name) => [name, BigInt(of[name])])) as Record<N, bigint>;

/** The message of a status. */
export function statusMessage(status: Status): GetStatusResponse {
  const { version, pid, workers = 1, uptime, running, retries, lastReload } = status;
  return create(GetStatusResponseSchema, {
    ...{ version, workers, running, away: [...status.away] },
    processId: pid,
    uptime: durationFromMs(Math.round(uptime * 1000)),
    models: status.models.map((it) => ({
      ...counts(it, ["failed", "cancelled", "promptTokens", "completionTokens", "images"]),
      model: it.model,
      calls: BigInt(it.requests),
      cacheHits: BigInt(it.cacheHits ?? 0),
      answers: BigInt(it.answers ?? 0),
      answerTokens: BigInt(it.answerTokens ?? 0),
      callRate: it.requestRate,
      tokenRate: it.tokenRate,
      firstMs: it.firstMs,
      totalMs: it.totalMs,
    })),
    targets: status.targets.map((it) => ({
      ...counts(it, ["attempts", "failures"]),
      ...health(it),
      ...{ backend: it.backend, model: it.model },
      ...{ inFlight: it.inFlight, maxInFlight: it.maxInFlight, waiting: it.waiting },
      ...{ requestQuota: it.quota?.requests, tokenQuota: it.quota?.tokens },
      ...{ firstMs: it.firstMs, totalMs: it.totalMs },
    })),
    mirrors: (status.mirrors ?? []).map((it) => ({
      ...counts(it, ["calls", "failed", "answers", "answerTokens", "images"]),
      ...health(it),
      ...{ mirrored: it.mirrored, backend: it.backend, model: it.model, running: it.running },
      passedOver: Object.fromEntries(
        Object.entries(it.passedOver).map(([why, count]) => [why, BigInt(count)]),
      ),
      ...{ firstMs: it.firstMs, totalMs: it.totalMs },
    })),
    retries: {
      ...counts(retries, ["retries", "denied"]),
      calls: BigInt(retries.requests),
    },
    lastReload: lastReload && {
      successful: lastReload.successful,
      waitingForRestart: lastReload.restart,
    },
    budgets: status.budgets?.map(({ scope, name, caller, team, period, amount, used, endsAt }) => ({
      ...{ scope, name, caller, team, period, amount, used },
      resetTime: endsAt === undefined ? undefined : timestampFromMs(Math.round(endsAt)),
    })),
  });
}

const health = ({ state, outForMs, lastFailure }: Partial<EndpointSnapshot>) => ({
  state: state && states[state],
  outForMs,
  lastFailure,
});

/** The status of a message. */
export function statusOfMessage(message: GetStatusResponse): Status {
  const { version, processId, workers, uptime, running, retries, lastReload } = message;
  return {
    ...{ version, pid: processId, gateway: processId, running, away: message.away },
    ...(workers > 1 && { workers }),
    uptime: uptime ? durationMs(uptime) / 1000 : 0,
    models: message.models.map((it) => ({
      model: it.model,
      requests: Number(it.calls),
      failed: Number(it.failed),
      cancelled: Number(it.cancelled),
      cacheHits: Number(it.cacheHits),
      answers: Number(it.answers),
      answerTokens: Number(it.answerTokens),
      promptTokens: Number(it.promptTokens),
      completionTokens: Number(it.completionTokens),
      images: Number(it.images),
      requestRate: it.callRate,
      tokenRate: it.tokenRate,
      ...timesOf(it),
    })),
    targets: message.targets.map((it) => ({
      ...{ backend: it.backend, model: it.model, waiting: it.waiting, inFlight: it.inFlight },
      state: "in",
      outForMs: 0,
      ...healthOf(it),
      ...(it.maxInFlight !== undefined && { maxInFlight: it.maxInFlight }),
      ...((it.requestQuota || it.tokenQuota) && {
        quota: {
          ...(it.requestQuota && { requests: quotaOf(it.requestQuota) }),
          ...(it.tokenQuota && { tokens: quotaOf(it.tokenQuota) }),
        },
      }),
      attempts: Number(it.attempts),
      failures: Number(it.failures),
      ...timesOf(it),
    })),
    mirrors: message.mirrors.map((it) => ({
      ...{ mirrored: it.mirrored, backend: it.backend, model: it.model, running: it.running },
      ...healthOf(it),
      calls: Number(it.calls),
      failed: Number(it.failed),
      answers: Number(it.answers),
      answerTokens: Number(it.answerTokens),
      images: Number(it.images),
      passedOver: Object.fromEntries(
        Object.entries(it.passedOver).map(([why, count]) => [why, Number(count)]),
      ),
      ...timesOf(it),
    })),
    retries: {
      requests: Number(retries?.calls ?? 0),
      retries: Number(retries?.retries ?? 0),
      denied: Number(retries?.denied ?? 0),
    },
    ...(lastReload && {
      lastReload: { successful: lastReload.successful, restart: lastReload.waitingForRestart },
    }),
    budgets: message.budgets.map(budgetOf),
  };
}

/** Nothing, of a mirror that was not asked. */
function healthOf(
  it: Pick<GetStatusResponse["targets"][number], "state" | "outForMs" | "lastFailure">,
): Pick<MirrorStatus, "state" | "outForMs" | "lastFailure"> {
  const state = stateWords.get(it.state as (typeof states)[EndpointSnapshot["state"]]);
  if (!state) return {};
  const { outForMs, lastFailure } = it;
  return { state, outForMs, ...(lastFailure !== "" && { lastFailure: lastFailure as ErrorCode }) };
}

const budgetOf = (it: GetStatusResponse["budgets"][number]): BudgetUse => ({
  scope: it.scope as AlertScope,
  name: it.name,
  ...(it.caller !== "" && { caller: it.caller }),
  ...(it.team !== "" && { team: it.team }),
  period: it.period as BudgetPeriod,
  ratio: it.used / it.amount,
  ...{ amount: it.amount, used: it.used },
  ...(it.resetTime && { endsAt: timestampMs(it.resetTime) }),
});

const timesOf = ({
  firstMs,
  totalMs,
}: Pick<GetStatusResponse["models"][number], "firstMs" | "totalMs">) => ({
  ...(firstMs && { firstMs: percentilesOf(firstMs) }),
  ...(totalMs && { totalMs: percentilesOf(totalMs) }),
});

const percentilesOf = ({ p50, p95, p99 }: Percentiles): Percentiles => ({ p50, p95, p99 });

const quotaOf = ({ used, limit }: QuotaPart): QuotaPart => ({ used, limit });
