/** Tells somebody when a budget passes a share of its amount. */
import { randomId } from "../random-id.js";
import type { TimeZone } from "../time-zone.js";
import { periodAt, sameEndMs } from "./period.js";
import { unit } from "./prices.js";
import type { BudgetPeriod } from "./settings.js";
import type { LimitStore } from "./store.js";

/** Scopes whose budgets are told of: end users are nobody's business but their callers'. */
export const alertScopes = [
  "global",
  "model",
  "team",
  "team_model",
  "caller",
  "caller_model",
] as const;

/** One of them. */
export type AlertScope = (typeof alertScopes)[number];

/** A budget that passed a share. */
export interface BudgetAlert {
  readonly scope: AlertScope;
  /** Of the entry of the models' limits, the team or the caller; empty for the gateway's own budget. */
  readonly name: string;
  /** Whose it is, where it is a caller's of some models. */
  readonly caller?: string | undefined;
  /** Whose it is, where it is a team's of some models. */
  readonly team?: string | undefined;
  readonly period: BudgetPeriod;
  /** The largest of the configured shares that it passed. */
  readonly threshold: number;
  /** In the unit of the price table. */
  readonly amount: number;
  /** The same, with what calls that run have reserved. */
  readonly used: number;
  /** Whether a call was refused for it: then it counts as used up, whatever is left. */
  readonly refused: boolean;
  /** When it begins anew, milliseconds since the epoch; absent: never. */
  readonly endsAt?: number | undefined;
}

/** An alert that somebody is to be told, and what becomes of it. */
export interface Telling {
  readonly alert: BudgetAlert;
  /**
   * Asked ahead of each attempt. Never rejects.
   * @param forMs how long this and all that may follow take at most, milliseconds
   * @returns false: another gateway tells it, or has told it; nothing more is to be done
   */
  begin(forMs: number): boolean | Promise<boolean>;
  /** It arrived. */
  told(): void;
  /** It is given up. */
  lost(): void;
}

/** Who is told. */
export interface AlertSink {
  /** Takes an alert over; returns at once and never throws. */
  send(telling: Telling): void;
}

/** Who is told of what. */
export interface AlertParts {
  /** Shares of a budget, above 0 to 1, ascending. */
  readonly at: readonly number[];
  readonly scopes: ReadonlySet<AlertScope>;
  /** By whose clocks budgets' periods begin. Default: UTC. */
  readonly zone?: TimeZone | undefined;
  readonly sink: AlertSink;
}

/** How a budget stands. */
export interface Watched {
  readonly scope: AlertScope;
  readonly name: string;
  readonly caller: string | undefined;
  readonly team: string | undefined;
  readonly period: BudgetPeriod;
  /** Of its counter. */
  readonly key: string;
  /** In billionths of the unit. */
  readonly limit: number;
  readonly used: number;
  /** When its period ends, milliseconds since the epoch; `Infinity`: never. */
  readonly endsAt: number;
  /** What was told of it last. */
  told: Told | undefined;
}

interface Told {
  /** The largest that was passed by use; 0: none. */
  readonly threshold: number;
  /** Whether a call that was refused was told of, as the largest share is. */
  readonly refused: boolean;
  /** One that is raised or lowered is told of anew. */
  readonly limit: number;
  readonly start: number;
  /** By share: those of which it is not known here that somebody heard. */
  readonly missed: Map<number, Missed>;
}

/** When a share is told of anew, milliseconds since the epoch, and after which pause that was. */
interface Missed {
  readonly again: number;
  readonly pauseMs: number;
}

/**
 * After which time a share is told of anew that nobody may have heard of, milliseconds: twice as long each time, up to
 * a day.
 */
const firstPauseMs = 900_000;

const day = 86_400_000;

/** How long it is remembered that a lifetime's share was told, milliseconds. */
const lifetimeMs = 400 * day;

/** Each budget, share and period is told once, by whichever gateway of those that share a store sees it first. */
export class BudgetAlerts {
  readonly #parts: AlertParts;
  readonly #store: LimitStore;
  readonly #now: () => number;

  /** @param now milliseconds since the epoch */
  constructor(parts: AlertParts, store: LimitStore, now: () => number = Date.now) {
    this.#parts = parts;
    this.#store = store;
    this.#now = now;
  }

  /** @param refused whether a call was just refused since there is not enough left */
  look(budget: Watched, refused: boolean): void {
    const { at, scopes, zone } = this.#parts;
    const { limit, period, endsAt } = budget;
    if (!scopes.has(budget.scope)) return;
    const reached = refused ? 1 : budget.used / limit;
    const threshold = at.findLast((share) => share <= reached);
    if (threshold === undefined) return;
    const { start } = periodAt(period, endsAt - sameEndMs, zone);
    const before = budget.told;
    const same = before?.limit === limit && before.start === start;
    const told = same
      ? before
      : { threshold: 0, refused: false, limit, start, missed: new Map<number, Missed>() };
    // One large call is refused long before the smaller shares are passed: these are told of all the same.
    const known = told.threshold >= threshold || (told.refused && threshold === at.at(-1));
    const missed = known ? told.missed.get(threshold) : undefined;
    if (known && !(missed && missed.again <= this.#now())) return;
    told.missed.delete(threshold);
    budget.told = refused ? { ...told, refused } : { ...told, threshold };
    const pauseMs = missed ? Math.min(missed.pauseMs * 2, day) : firstPauseMs;
    const miss = () => void told.missed.set(threshold, { again: this.#now() + pauseMs, pauseMs });
    const alert = alertOf(budget, threshold, refused);
    this.#parts.sink.send(
      this.#telling(alert, `${budget.key}:${start}:${limit}:${threshold}`, miss),
    );
  }

  /**
   * Its name is held for a short time while it is told, so that another gateway tells it where this one is killed; and
   * for the whole period once it arrived.
   * @param miss called if it is not known whether somebody hears
   */
  #telling(alert: BudgetAlert, name: string, miss: () => void): Telling {
    const store = this.#store;
    const holder = randomId(9);
    return {
      alert,
      async begin(forMs) {
        const isOurs = await store.hold(name, holder, forMs);
        if (!isOurs) miss();
        return isOurs;
      },
      told: () => {
        const { endsAt } = alert;
        const left = endsAt === undefined ? lifetimeMs : Math.max(0, endsAt - this.#now()) + day;
        store.keep(name, holder, left);
      },
      lost() {
        store.release(name, holder);
        miss();
      },
    };
  }
}

const alertOf = (
  { scope, name, caller, team, period, limit, used, endsAt }: Watched,
  threshold: number,
  refused: boolean,
): BudgetAlert => ({
  ...{ scope, name, caller, team, period, threshold, refused },
  amount: limit / unit,
  used: used / unit,
  endsAt: endsAt === Number.POSITIVE_INFINITY ? undefined : endsAt,
});
