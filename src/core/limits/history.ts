/** What was used before this process began, for counters that go on over a restart. */

import { fits } from "../pattern.js";
import type { UsageHistory, UsedSoFar } from "../usage/history.js";
import { periodAt } from "./period.js";
import type { BudgetPeriod, CallerLimits, LimitSettings } from "./settings.js";

/** What a counter of a calendar period had counted. */
export interface UsedCounter {
  readonly key: string;
  readonly period: BudgetPeriod;
  /** Start of the period, milliseconds since the epoch. */
  readonly start: number;
  readonly used: number;
}

const periods: readonly BudgetPeriod[] = ["hour", "day", "week", "month"];

/**
 * Reads what the current periods' counters would stand at.
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
  for (const period of periods) {
    const scopes = scopesOf(settings, callersOwn, period);
    if (scopes.length === 0) continue;
    const { start } = periodAt(period, now);
    const sums = new Map<string, number>();
    for (const row of await history.since(start)) {
      for (const scope of scopes)
        scope(row, (key, more) => sums.set(key, (sums.get(key) ?? 0) + more));
    }
    for (const [key, sum] of sums) used.push({ key, period, start, used: sum });
  }
  return used;
}

/** Adds a row to the counters of one scope. */
type Scope = (row: UsedSoFar, add: (key: string, more: number) => void) => void;

function scopesOf(settings: LimitSettings, callersOwn: boolean, period: BudgetPeriod): Scope[] {
  const scope = (
    limits: CallerLimits | undefined,
    prefixOf: (row: UsedSoFar) => string | undefined,
    any = false,
  ): Scope[] => {
    const images = period === "day" && (any || limits?.imagesPerDay !== undefined);
    const spend = any || limits?.budget?.period === period;
    if (!images && !spend) return [];
    return [
      (row, add) => {
        const prefix = prefixOf(row);
        if (prefix === undefined) return;
        if (images && row.images > 0) add(`${prefix}:images`, row.images);
        if (spend && row.spend > 0) add(`${prefix}:spend-${period}`, row.spend);
      },
    ];
  };
  return [
    ...scope(settings.global, () => "global"),
    ...scope(settings.caller, ({ caller }) => `caller:${caller}`, callersOwn),
    ...settings.models.flatMap((entry) =>
      scope(entry, ({ model }) => (fits(entry.model, model) ? `model:${entry.model}` : undefined)),
    ),
  ];
}
