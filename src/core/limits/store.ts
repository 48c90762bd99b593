/** Where calls are counted: in this process, or in a store that all replicas share. */
import type { BudgetPeriod } from "./settings.js";

/** Over which time a counter counts. */
export type Span =
  /** Any stretch of so many milliseconds. What counts leaves after it, at most a sixtieth later. */
  | { readonly type: "sliding"; readonly ms: number }
  /** A period of the calendar, by the store's time zone, or a lifetime, which has no end. */
  | { readonly type: "calendar"; readonly period: BudgetPeriod }
  /** As long as the call runs. */
  | { readonly type: "running" };

/** Something that is counted, and how much of it there may be. */
export interface Counter {
  /** The same in all replicas, for example `caller:alice:requests`. */
  readonly key: string;
  readonly span: Span;
  /** A whole number. */
  readonly limit: number;
  /** Whether claims are estimates, put right when the call ended. */
  readonly estimated: boolean;
}

/** What a call wants of a counter: a whole number, 1 or more. */
export interface Claim {
  readonly counter: Counter;
  readonly amount: number;
}

/** How a counter stands after a decision. */
export interface Standing {
  /** What is left; never negative. */
  readonly remaining: number;
  /** After which time the whole limit is there again if nobody calls, milliseconds; `Infinity`: never. */
  readonly resetMs: number;
}

/** How counters stand, where that is known. */
export type Standings = readonly (Standing | undefined)[];

/** What was counted for a call, to be handed back to the store. */
export interface Reservation {
  readonly claims: readonly Claim[];
}

/** Whether a call may go on. Standings are in the order of the claims. */
export type Verdict = {
  /** Decided without the store that replicas share: standings are those of this process's share. */
  readonly alone?: true;
} & (
  | {
      readonly granted: true;
      readonly standings: readonly Standing[];
      readonly reservation: Reservation;
    }
  | {
      readonly granted: false;
      readonly standings: readonly Standing[];
      /** Position of the claim that has to wait longest. */
      readonly refused: number;
      /** When all of them may fit, milliseconds; `Infinity`: never. */
      readonly waitMs: number;
    }
);

/** How a store is, for metrics and health. */
export interface StoreState {
  readonly kind: "memory" | "redis";
  /** False while the store is away and decisions are made without it. */
  readonly available: boolean;
  /** How often it went away. */
  readonly outages: number;
  /** Decisions made without it, all in all. */
  readonly decidedWithout: number;
}

/** Counts calls. Safe to be used by several replicas at once where the store is shared. */
export interface LimitStore {
  /**
   * Counts a call against all of its counters, or against none of them.
   * Answers at once where nothing has to be asked.
   * @param claims each counter once
   * @param lastsMs how long the call lasts at most, milliseconds: so long it is known what it
   *   claimed. Default 0
   * @throws LintelError `unavailable` if the store is away and the operator closed on it
   */
  reserve(claims: readonly Claim[], lastsMs?: number): Verdict | Promise<Verdict>;
  /**
   * Tells how counters stand, and counts nothing. What running calls claimed counts. Of a period of the
   * calendar `resetMs` is the time to its end, also where nothing was used; a lifetime's is `Infinity`. Never throws
   * or rejects.
   * @returns in the order of the counters; `undefined`: that is not known now, since the store is away or
   *   what was used before this process began is not read yet
   */
  peek(counters: readonly Counter[]): Standings | Promise<Standings>;
  /**
   * The call ended: corrects what was counted to what it really took, and frees
   * what counted as running. Returns at once; only the first time counts.
   * @param amounts in the order of the claims, 0 or more, also above what was claimed
   */
  settle(reservation: Reservation, amounts: readonly number[]): void;
  /**
   * Holds a name, so that of all who share the store one does something; also who holds it already. Never throws or
   * rejects.
   * @param holder who wants it, a name that nobody else has
   * @param forMs for how long from now on, milliseconds; longer or shorter than before
   * @returns whether nobody else holds it; true also where the store is away
   */
  hold(name: string, holder: string, forMs: number): boolean | Promise<boolean>;
  /** The same for what is done. Returns at once: a store that is away hears of it when it is back. Never throws. */
  keep(name: string, holder: string, forMs: number): void;
  /** Holds a name no longer, if it is this one that does. As `keep`. */
  release(name: string, holder: string): void;
  readonly state: StoreState;
  /** Writes down what is on its way; nothing is counted any more. */
  close(): Promise<void>;
}
