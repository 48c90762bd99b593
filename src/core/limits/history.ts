/** What was used before this process began, for counters that go on over a restart. */

import { fits } from "../pattern.js";
import type { UsageHistory, UsedSoFar } from "../usage/history.js";
import { periodAt } from "./period.js";
import { counterKey, scopes } from "./rules.js";
import {
  type BudgetPeriod,
  budgetPeriods,
  type CallerLimits,
  type LimitSettings,
} from "./settings.js";

/** What a counter of a calendar period had counted. */
export interface UsedCounter {
  readonly key: string;
  readonly period: BudgetPeriod;
  /** Start of the period, milliseconds since the epoch. */
  readonly start: number;
  readonly used: number;
}

/**
 * Reads what the current periods' counters would stand at.
 * @param now of calls that begin later nothing is in it
 * @param callersOwn whether callers may bring limits of their own, of any period
 * @throws Error while the history can't be read
 */
export async function usedCounters(
  history: UsageHistory,
  settings: LimitSettings,
  callersOwn: boolean,
  now: number,
): Promise<UsedCounter[]> {
  const used: UsedCounter[] = [];
  for (const period of budgetPeriods) {
    const counting = scopesOf(settings, callersOwn, period);
    if (counting.length === 0) continue;
    const { start } = periodAt(period, now);
    const sums = new Map<string, number>();
    for (const row of await history.between(start, now)) {
      for (const scope of counting)
        scope(row, (key, more) => sums.set(key, (sums.get(key) ?? 0) + more));
    }
    for (const [key, sum] of sums) used.push({ key, period, start, used: sum });
  }
  return used;
}

/** Adds a row to the counters of one scope. */
type Scope = (row: UsedSoFar, add: (key: string, more: number) => void) => void;

function scopesOf(settings: LimitSettings, callersOwn: boolean, period: BudgetPeriod): Scope[] {
  const span = { type: "calendar", period } as const;
  const counted = (
    limits: CallerLimits | undefined,
    scopeOf: (row: UsedSoFar) => string | undefined,
    any = false,
  ): Scope[] => {
    const images = period === "day" && (any || limits?.imagesPerDay !== undefined);
    const spend = any || limits?.budget?.period === period;
    if (!images && !spend) return [];
    return [
      (row, add) => {
        const scope = scopeOf(row);
        if (scope === undefined) return;
        if (images && row.images > 0) add(counterKey(scope, "images", span), row.images);
        if (spend && row.spend > 0) add(counterKey(scope, "spend", span), row.spend);
      },
    ];
  };
  return [
    ...counted(settings.global, () => scopes.gateway),
    ...counted(settings.caller, ({ caller }) => scopes.caller(caller), callersOwn),
    ...settings.models.flatMap((entry) =>
      counted(entry, ({ model }) =>
        fits(entry.model, model) ? scopes.model(entry.model) : undefined,
      ),
    ),
  ];
}
