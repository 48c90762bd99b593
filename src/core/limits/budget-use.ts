/** How much of a budget is used, as metrics and whoever looks at a gateway are told. */
import type { AlertScope } from "./alerts.js";
import type { BudgetPeriod } from "./settings.js";

/** How much of one budget is used. */
export interface BudgetUse {
  readonly scope: AlertScope;
  /** Of the entry of the models' limits, the team or the caller; empty for the gateway's own budget. */
  readonly name: string;
  /** Whose it is, where it is a caller's of some models. */
  readonly caller?: string | undefined;
  /** Whose it is, where it is a team's of some models. */
  readonly team?: string | undefined;
  readonly period: BudgetPeriod;
  /** Its share, with what calls that run have reserved: 1 where it is used up, above it where calls took more. */
  readonly ratio: number;
  /** In the unit of the price table. */
  readonly amount: number;
  /** The same, with what calls that run have reserved. */
  readonly used: number;
  /** When it begins anew, milliseconds since the epoch; absent: never. */
  readonly endsAt?: number | undefined;
}

/** Those of which the largest shares are used, these first. */
export const fullest = (budgets: readonly BudgetUse[], most: number): BudgetUse[] =>
  [...budgets].sort((a, b) => b.ratio - a.ratio).slice(0, most);
