/** Tokens and sums of usage as messages, and back: the gateway answers with them, and commands read them. */
import { create, type MessageInitShape } from "@bufbuild/protobuf";
import {
  type Duration,
  durationMs,
  type Timestamp,
  timestampFromMs,
  timestampMs,
} from "@bufbuild/protobuf/wkt";
import {
  type Budget,
  type Limit,
  type Limits,
  LimitsSchema,
  State,
  type Token,
  TokenSchema,
  type UserLimits,
} from "../../../gen/lintel/admin/v1/tokens_pb.js";
import { type UsageRow, UsageRowSchema } from "../../../gen/lintel/admin/v1/usage_pb.js";
import type { LimitChanges } from "../callers/registry.js";
import { graceEnd, type StoredToken } from "../callers/store.js";
import { unit } from "../limits/prices.js";
import {
  type BudgetPeriod,
  budgetPeriods,
  type CallerLimits,
  type OwnLimits,
} from "../limits/settings.js";
import type { Group, UsageTotals } from "../usage/sums.js";

/** A token as callers of administration see it: without what is kept of its secret. */
export type ShownToken = Omit<StoredToken, "hash" | "previous" | "owner"> & {
  /** The caller who made it for itself; absent: it was issued. */
  readonly owner?: string | undefined;
};

const time = (ms: number | undefined) => (ms === undefined ? undefined : timestampFromMs(ms));
const ms = (time: Timestamp | undefined) => (time ? timestampMs(time) : undefined);

/** Milliseconds; absent: it was not said. */
export const msOf = (duration: Duration | undefined): number | undefined =>
  duration && durationMs(duration);

/** A token as a message. */
export function tokenMessage(token: StoredToken): Token {
  const { id, name, from = [], team = "", limits, owner } = token;
  // What its owner may use is for the configuration to say.
  const { models = [] } = owner ? {} : token;
  const now = Date.now();
  const { createdAt, expiresAt, revokedAt } = token;
  const expired = expiresAt !== undefined && expiresAt <= now;
  const state = revokedAt !== undefined ? State.REVOKED : expired ? State.EXPIRED : State.ACTIVE;
  const until = graceEnd(token) ?? 0;
  return create(TokenSchema, {
    ...{ id, name, state, team, models: [...models], fromAddresses: [...from] },
    limits: limits && limitsMessage(limits),
    owner: owner?.caller ?? "",
    createTime: time(createdAt),
    expireTime: time(expiresAt),
    revokeTime: time(revokedAt),
    previousExpireTime: state === State.ACTIVE && until > now ? time(until) : undefined,
  });
}

/** A message's token. */
export function tokenOf(token: Token): ShownToken {
  return {
    id: token.id,
    name: token.name,
    owner: token.owner || undefined,
    models: token.models.length > 0 ? token.models : undefined,
    from: token.fromAddresses.length > 0 ? token.fromAddresses : undefined,
    limits: token.limits && ownLimits(token.limits),
    team: token.team || undefined,
    createdAt: ms(token.createTime) ?? 0,
    expiresAt: ms(token.expireTime),
    revokedAt: ms(token.revokeTime),
  };
}

/** Limits as a message: what is absent stays absent, `null` is that of every caller. */
export const limitsMessage = ({ user, ...limits }: LimitChanges): Limits =>
  create(LimitsSchema, { ...oneByOne(limits), user: user && oneByOne(user) });

function oneByOne(limits: Omit<LimitChanges, "user">) {
  const { requestsPerMinute, tokensPerMinute, imagesPerDay, concurrent, budget } = limits;
  const whole = (limit: number | null | undefined) =>
    limit === undefined
      ? undefined
      : { kind: limit === null ? inherit : limit === Infinity ? unlimited : amount(BigInt(limit)) };
  return {
    requestsPerMinute: whole(requestsPerMinute),
    tokensPerMinute: whole(tokensPerMinute),
    imagesPerDay: whole(imagesPerDay),
    concurrent: whole(concurrent),
    budget: budget === null ? { kind: inherit } : budget && budgetMessage(budget),
  };
}

const inherit = { case: "inherit", value: true } as const;
const unlimited = { case: "unlimited", value: true } as const;
const amount = <T>(value: T) => ({ case: "amount", value }) as const;

const budgetMessage = ({ amount: most, period }: NonNullable<CallerLimits["budget"]>) => ({
  kind: most === Infinity ? unlimited : amount(most),
  period,
});

const ownLimits = ({ user, ...limits }: Limits): OwnLimits => ({
  ...callerLimits(limits),
  ...(user && { user: callerLimits(user) }),
});

function callerLimits(limits: Omit<Limits | UserLimits, "$typeName">): CallerLimits {
  const whole = (limit: Limit | undefined) => limit && amountOf(limit.kind);
  const { budget } = limits;
  return {
    requestsPerMinute: whole(limits.requestsPerMinute),
    tokensPerMinute: whole(limits.tokensPerMinute),
    imagesPerDay: whole(limits.imagesPerDay),
    concurrent: whole(limits.concurrent),
    budget: budget && { amount: amountOf(budget.kind), period: periodOf(budget) },
  };
}

const amountOf = ({ case: kind, value }: Limit["kind"] | Budget["kind"]): number =>
  kind === "amount" ? Number(value) : Number.POSITIVE_INFINITY;

const periodOf = ({ period }: Budget): BudgetPeriod =>
  budgetPeriods.find((one) => one === period) ?? "month";

/** Sums as a message. */
export function rowMessage({ group, spend, ...sums }: UsageTotals): UsageRow {
  const { calls, failed, cancelled, cacheHits, images } = sums;
  const { promptTokens, completionTokens } = sums;
  const { cachedTokens, cacheWriteTokens, reasoningTokens } = sums;
  const row = {
    group: { ...group } as Record<string, string>,
    calls: BigInt(calls),
    failed: BigInt(failed),
    cancelled: BigInt(cancelled),
    cacheHits: BigInt(cacheHits),
    promptTokens: BigInt(promptTokens),
    completionTokens: BigInt(completionTokens),
    cachedTokens: BigInt(cachedTokens),
    cacheWriteTokens: BigInt(cacheWriteTokens),
    reasoningTokens: BigInt(reasoningTokens),
    images: BigInt(images),
    spend: spend / unit,
    meanDurationMs: sums.meanDurationMs,
    meanFirstMs: sums.meanFirstMs,
  } satisfies MessageInitShape<typeof UsageRowSchema>;
  return create(UsageRowSchema, row);
}

/** A message's sums. */
export function totalsOf(row: UsageRow): UsageTotals {
  return {
    group: row.group as Partial<Record<Group, string>>,
    calls: Number(row.calls),
    failed: Number(row.failed),
    cancelled: Number(row.cancelled),
    cacheHits: Number(row.cacheHits),
    promptTokens: Number(row.promptTokens),
    completionTokens: Number(row.completionTokens),
    cachedTokens: Number(row.cachedTokens),
    cacheWriteTokens: Number(row.cacheWriteTokens),
    reasoningTokens: Number(row.reasoningTokens),
    images: Number(row.images),
    spend: Math.round(row.spend * unit),
    meanDurationMs: row.meanDurationMs,
    meanFirstMs: row.meanFirstMs,
  };
}
