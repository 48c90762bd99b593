/** What was used before this process began, for counters that go on over a restart. */

import { setImmediate } from "node:timers/promises";
import { fits } from "../pattern.js";
import { type TimeZone, utc } from "../time-zone.js";
import type { PeriodLimit, UsageHistory, UsedSoFar, UsersOf } from "../usage/history.js";
import { counterKey, scopes } from "./counters.js";
import { periodAt } from "./period.js";
import {
  type BudgetPeriod,
  budgetPeriods,
  type CallerLimits,
  type LimitSettings,
} from "./settings.js";

/** End users after whom calls are looked after, too: all together may take a second. */
export const usersAtOnce = 1000;

/** What a counter of a calendar period had counted. */
export interface UsedCounter {
  readonly key: string;
  readonly period: BudgetPeriod;
  /** Start of the period, milliseconds since the epoch. */
  readonly start: number;
  readonly used: number;
}

/** What is counted in periods of the calendar by one entry of the configuration. */
export interface PastScope {
  /** The entry, and what it counts: those of one name have counted the same calls. */
  readonly name: string;
  readonly quantity: "images" | "spend";
  readonly period: BudgetPeriod;
  /** Whose counter a row belongs to, if to any; absent: it is of end users, who have rows of their own. */
  readonly of?: ((row: UsedSoFar) => string | undefined) | undefined;
  /** Callers who may have it of their own; absent: whoever `of` says. */
  readonly callers?: CallersOf | undefined;
  /** Whose end users; absent: all. */
  readonly users?: UsersOf | undefined;
}

/** Callers who may have a limit of their own. */
interface CallersOf {
  /** `Caller.id`. */
  readonly callers: readonly string[];
  /** What the ids of those begin with whom an issuer vouches for. */
  readonly issuers: readonly string[];
  /** Besides, those with a token of the database that has such a limit. */
  readonly stored: PeriodLimit;
}

/** Limits, and who may have others. */
export interface PastLimits {
  readonly limits: LimitSettings;
  /** Whether callers may bring limits of their own, of any period. */
  readonly callersOwn: boolean;
  /** Limits that the configuration gives to some callers; those of tokens in the database are not in it. */
  readonly ofCallers?: readonly OwnCallers[] | undefined;
  /** Likewise to the end users of some. */
  readonly ofUsers?: readonly OwnUsers[] | undefined;
  /** What the configuration says of those, in any words: where that changes, they may be new. */
  readonly own?: string | undefined;
}

/** Limits of a caller, or of an issuer's callers. */
export interface OwnCallers {
  readonly of: "callers" | "issuers";
  readonly name: string;
  readonly limits: CallerLimits;
}

/** Limits of the end users of a caller, of an issuer's callers, or of a team's members. */
export interface OwnUsers {
  readonly of: "callers" | "issuers" | "teams";
  readonly name: string;
  readonly limits: CallerLimits;
}

/** All that counts by these limits. */
export function pastScopes({
  limits,
  callersOwn,
  ofCallers = [],
  ofUsers = [],
  own = "",
}: PastLimits): PastScope[] {
  const { global, caller, user, team, teams = [], models } = limits;
  const everyUser = scopesOf("user", user);
  const ownUsers = ofAll
    .flatMap((any) => scopesOf(`own ${own} user`, any))
    .filter((one) => !everyUser.some(isLike(one)))
    .map((one) => ({ ...one, users: usersOf(one, ofUsers) }));
  const ofCaller = (row: UsedSoFar) => scopes.caller(row.caller);
  const everyCaller = scopesOf("caller", caller, ofCaller);
  const ownCallers = ofAll
    .flatMap((any) => scopesOf(`own ${own}`, any, ofCaller))
    .filter((one) => !everyCaller.some(isLike(one)))
    .map((one) => ({ ...one, callers: callersOf(one, ofCallers) }));
  return [
    ...scopesOf("global", global, () => scopes.gateway),
    ...everyCaller,
    ...(callersOwn ? ownCallers : []),
    ...everyUser,
    ...(callersOwn ? ownUsers : []),
    ...scopesOf("team", team, ({ team }) => (team ? scopes.team(team) : undefined)),
    ...teams.flatMap((entry) => {
      const name = scopes.team(entry.team);
      const ofTeam = scopesOf(name, entry, (row) => (row.team === entry.team ? name : undefined));
      const ofModels = (entry.models ?? []).flatMap(({ model, ...own }) =>
        scopesOf(`${name} ${model}`, own, (row) =>
          row.team === entry.team && fits(model, row.model)
            ? scopes.teamModel(entry.team, model)
            : undefined,
        ),
      );
      return [...ofTeam, ...ofModels];
    }),
    ...models.flatMap((entry) => {
      const name = scopes.model(entry.model);
      const isOf = ({ model }: UsedSoFar) => fits(entry.model, model);
      const ofPair = (row: UsedSoFar) =>
        isOf(row) ? scopes.callerModel(row.caller, entry.model) : undefined;
      const ofTeamPair = (row: UsedSoFar) =>
        row.team && isOf(row) ? scopes.teamModel(row.team, entry.model) : undefined;
      return [
        ...scopesOf(name, entry, (row) => (isOf(row) ? name : undefined)),
        ...scopesOf(`${name} caller`, entry.caller, ofPair),
        ...scopesOf(`${name} team`, entry.team, ofTeamPair),
      ];
    }),
  ];
}

/** Whether another one counts the same. */
const isLike = (one: PastScope) => (other: PastScope) =>
  one.quantity === other.quantity && one.period === other.period;

function usersOf(scope: PastScope, own: readonly OwnUsers[]): UsersOf {
  const named = namesIn(scope, own);
  return { ...callersOf(scope, own), teams: named("teams") };
}

function callersOf(scope: PastScope, own: readonly (OwnCallers | OwnUsers)[]): CallersOf {
  const named = namesIn(scope, own);
  return {
    ...{ callers: named("callers"), issuers: named("issuers") },
    stored: scope.quantity === "images" ? "images" : scope.period,
  };
}

/** Names of one kind who have such a limit. */
function namesIn(scope: PastScope, own: readonly (OwnCallers | OwnUsers)[]) {
  const such = own.filter(({ limits }) => scopesOf("", limits).some(isLike(scope)));
  return (kind: OwnUsers["of"]) => such.flatMap(({ of, name }) => (of === kind ? [name] : []));
}

/** Each limit that there can be. */
const ofAll: readonly CallerLimits[] = [
  { imagesPerDay: 0 },
  ...budgetPeriods.map((period) => ({ budget: { amount: 0, period } })),
];

function scopesOf(
  entry: string,
  { imagesPerDay, budget }: CallerLimits = {},
  of?: PastScope["of"],
): PastScope[] {
  const counted = (quantity: PastScope["quantity"], period: BudgetPeriod) => {
    return { name: `${entry} ${quantity} ${period}`, quantity, period, of };
  };
  return [
    ...(Number.isFinite(imagesPerDay) ? [counted("images", "day")] : []),
    ...(budget && Number.isFinite(budget.amount) ? [counted("spend", budget.period)] : []),
  ];
}

/**
 * Reads what the current periods' counters would stand at, those of one kind of period at a time, the shortest first:
 * a lifetime's take all records there are.
 * @param now of calls that begin later nothing is in it
 * @param zone by whose clocks periods begin
 * @throws Error while the history can't be read
 */
export async function* usedCounters(
  history: UsageHistory,
  counting: readonly PastScope[],
  now: number,
  zone: TimeZone = utc,
): AsyncGenerator<readonly UsedCounter[]> {
  for (const period of budgetPeriods) {
    const used: UsedCounter[] = [];
    const due = counting.filter((scope) => scope.period === period);
    const { start } = periodAt(period, now, zone);
    const shared: PastScope[] = [];
    for (const scope of due) {
      if (!scope.of) continue;
      const one = scope.callers ? await narrowed(history, scope, scope.callers) : scope;
      if (one) shared.push(one);
    }
    const sums = shared.length > 0 ? await summed(history, shared, start, now) : [];
    for (const [key, sum] of sums) used.push({ key, period, start, used: sum });
    for (const { quantity, of, users } of due) {
      if (of) continue;
      const span = { type: "calendar", period } as const;
      for (const row of await history.ofUsers(quantity, start, now, users)) {
        const key = counterKey(scopes.user(row.caller, row.user), quantity, span);
        used.push({ key, period, start, used: row.used });
        if (used.length % usersAtOnce === 0) await setImmediate();
      }
    }
    if (used.length > 0) yield used;
  }
}

/** A scope of those callers alone who may have it; `undefined`: nobody may. */
async function narrowed(
  history: UsageHistory,
  { of, ...scope }: PastScope,
  whose: CallersOf,
): Promise<PastScope | undefined> {
  const names = new Set([...whose.callers, ...(await history.limited(whose.stored))]);
  const prefixes = whose.issuers.map((name) => `${name}:`);
  if (names.size + prefixes.length === 0) return undefined;
  const has = (caller: string) =>
    names.has(caller) || prefixes.some((prefix) => caller.startsWith(prefix));
  return { ...scope, of: (row) => (has(row.caller) ? of?.(row) : undefined) };
}

/** Sums by counter, of entries of one period. */
async function summed(
  history: UsageHistory,
  due: readonly PastScope[],
  start: number,
  now: number,
): Promise<ReadonlyMap<string, number>> {
  const sums = new Map<string, number>();
  for (const row of await history.between(start, now)) {
    // Several entries may count in one counter.
    const counters = new Map<string, number>();
    for (const { quantity, period, of } of due) {
      const whose = of?.(row);
      if (whose === undefined) continue;
      counters.set(counterKey(whose, quantity, { type: "calendar", period }), row[quantity]);
    }
    for (const [key, more] of counters) {
      if (more > 0) sums.set(key, (sums.get(key) ?? 0) + more);
    }
  }
  return sums;
}
