/** What was used so far: for counters that begin anew with the process and must not. */

import type { BudgetPeriod } from "../limits/settings.js";

/** Sums of one caller's calls of one model, as a member of one team. */
export interface UsedSoFar {
  /** `Caller.id`. */
  readonly caller: string;
  /** `Caller.team`; absent or empty: none. */
  readonly team?: string | undefined;
  /** As callers name it; empty for calls that did not get as far. */
  readonly model: string;
  readonly calls: number;
  readonly promptTokens: number;
  readonly completionTokens: number;
  readonly images: number;
  /** By the price table of the time, in billionths of its unit. */
  readonly spend: number;
}

/** Of more end users it is not asked what they used before: callers may name any number of them. */
export const mostUsers = 100_000;

/** What one end user's calls used of something. */
export interface UsedByUser {
  /** `Caller.id`. */
  readonly caller: string;
  /** Whom the calls were for, as the caller names them. */
  readonly user: string;
  /** Images; or spend, as in `UsedSoFar`. */
  readonly used: number;
}

/** A limit of a period of the calendar: a budget's period, or images per day. */
export type PeriodLimit = BudgetPeriod | "images";

/** Whose end users: those of any of these. */
export interface UsersOf {
  /** `Caller.id`. */
  readonly callers: readonly string[];
  /** `Caller.token` of those whom an issuer vouches for. */
  readonly issuers: readonly string[];
  /** `Caller.team`, as of the calls. */
  readonly teams: readonly string[];
  /** Of tokens of the database that have such a limit for their users. */
  readonly stored: PeriodLimit;
}

/** Usage that was recorded, and who has limits that count it. */
export interface UsageHistory {
  /**
   * Sums of the calls that began at a time or later, in all gateways with this
   * database; what this machine's processes left behind is in it.
   * @param from milliseconds since the epoch; 0: spend of records that are deleted is in it, too, but not that of
   *   callers whom nobody knew
   * @param until calls that began then or later are left out
   * @throws Error while the database is away
   */
  between(from: number, until: number): Promise<readonly UsedSoFar[]>;
  /**
   * The same for each end user of each caller who used any; at most `mostUsers`, those who used most. Of deleted
   * records nothing is in it.
   * @param of absent: of all callers
   * @throws Error while the database is away
   */
  ofUsers(
    quantity: "images" | "spend",
    from: number,
    until: number,
    of?: UsersOf,
  ): Promise<readonly UsedByUser[]>;
  /**
   * Callers with a token of the database, also of one that was revoked, that has such a limit of its own.
   * @throws Error while the database is away
   */
  limited(limit: PeriodLimit): Promise<readonly string[]>;
}
