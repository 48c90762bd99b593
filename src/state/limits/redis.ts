/** Limits counted in Redis or Valkey, for all replicas together. */
import { randomBytes } from "node:crypto";
import { LintelError } from "../../core/errors.js";
import type {
  Claim,
  Counter,
  LimitStore,
  Reservation,
  Standings,
  StoreState,
  Verdict,
} from "../../core/limits/store.js";
import { type TimeZone, utc } from "../../core/time-zone.js";
import type { RedisConnection } from "../redis/connection.js";
import { preload, runScript } from "../redis/script.js";
import { claimStep, letters, SpanArguments, standingsOf, timeTold } from "./encoding.js";
import { HeldNames } from "./held.js";
import { Leases } from "./leases.js";
import { type MemoryLimitStore, memoryLimits } from "./memory.js";
import { Owed } from "./owed.js";
import { chargeScript, peekScript, renewScript, reserveScript, settleScript } from "./scripts.js";

/** What can be set about it. */
export interface RedisLimitOptions {
  /**
   * What happens to calls while the store is away: `open` counts them in this
   * process, `closed` refuses them. Default `open`.
   */
  readonly onFailure?: "open" | "closed";
  /** Among how many replicas limits are divided while each counts for itself. Default 1. */
  readonly replicas?: number;
  /** How long the slot of a running call outlives its process, milliseconds. Default 30000. */
  readonly leaseMs?: number;
  /** Milliseconds since the epoch, for all counters. Default: the store's clock. */
  readonly clock?: () => number;
  /** By whose clocks periods of the calendar begin. Default: UTC. */
  readonly zone?: TimeZone | undefined;
  /** How long the end waits for a store that is away and has to be told something, milliseconds. Default 2000. */
  readonly closeMs?: number;
}

/**
 * How long what a call claimed is remembered after its deadline: its end may wait for the store, and without it a
 * lifetime's budget would never hear what the call took. Its end forgets it, but for the calls of a gateway that was killed.
 */
const afterMs = 86_400_000;

interface RedisReservation extends Reservation {
  /** Absent: the store was not asked. */
  readonly id: string | undefined;
  /** What was counted in this process instead, or as well where nobody knows. */
  readonly local?: Reservation | undefined;
  settled: boolean;
}

/** One question for each call; what is put right at the end is sent without waiting. */
export class RedisLimits implements LimitStore {
  readonly #connection: RedisConnection;
  readonly #onFailure: "open" | "closed";
  readonly #leaseMs: number;
  readonly #clock: (() => number) | undefined;
  readonly #closeMs: number;
  /** What is counted in this process, while the store is away. */
  readonly #local: MemoryLimitStore;
  /** Of all keys. One tag for all: a call's counters have to be in one slot of a cluster. */
  readonly #prefix: string;
  readonly #leases: Leases;
  readonly #owed: Owed;
  readonly #held: HeldNames;
  readonly #spans: SpanArguments;
  readonly #replica = randomBytes(9).toString("base64url");
  #made = 0;
  #decidedWithout = 0;

  /** @param connection stays its owner's */
  constructor(connection: RedisConnection, options: RedisLimitOptions = {}) {
    const { onFailure = "open", replicas = 1, leaseMs = 30_000, clock, closeMs = 2000 } = options;
    const { zone = utc } = options;
    this.#connection = connection;
    this.#onFailure = onFailure;
    this.#leaseMs = leaseMs;
    this.#clock = clock;
    this.#closeMs = closeMs;
    this.#local = memoryLimits({ clock, replicas, zone });
    this.#prefix = `${connection.keyPrefix}{limits}:`;
    // What is rarely run comes along then.
    preload(connection, [reserveScript, settleScript, renewScript, chargeScript, peekScript]);
    this.#spans = new SpanArguments(zone, clock ?? Date.now);
    this.#leases = new Leases(connection, leaseMs, () => this.#time());
    this.#owed = new Owed(connection, this.#prefix, this.#spans, clock);
    this.#held = new HeldNames(connection, this.#owed, this.#prefix);
  }

  reserve(claims: readonly Claim[], lastsMs = 0): Verdict | Promise<Verdict> {
    if (!this.#connection.available) return this.#without(claims);
    const id = `${this.#replica}-${(this.#made++).toString(36)}`;
    const keys = [`${this.#prefix}r:${id}`];
    const corrected = claims.some(({ counter }) => counter.estimated);
    const life = corrected ? Math.ceil(lastsMs) + afterMs : 0;
    const args: (string | number)[] = [this.#time(), life, id, this.#leaseMs];
    for (const { counter, amount } of claims) {
      keys.push(...this.#keysOf(counter));
      const { span, limit } = counter;
      args.push(letters[span.type], limit, amount, this.#spans.of(span), claimStep(counter));
    }
    return this.#connection
      .ask((client) => runScript(client, reserveScript, keys, args))
      .then(
        (answer) => {
          const verdict = verdictOf(answer as number[], claims, id);
          if (verdict.granted) this.#leases.hold(id, runningKeys(claims, this.#prefix));
          return verdict;
        },
        // It may have been counted there, just before the answer was lost.
        () => this.#without(claims, id),
      );
  }

  peek(counters: readonly Counter[]): Standings | Promise<Standings> {
    const unknown = () => counters.map(() => undefined);
    if (counters.length === 0) return [];
    // What this process lets through meanwhile says nothing of what was used.
    if (!this.#connection.available) return unknown();
    const keys = counters.flatMap((counter) => this.#keysOf(counter));
    const args: (string | number)[] = [this.#time()];
    for (const counter of counters) {
      const { span, limit } = counter;
      args.push(letters[span.type], limit, this.#spans.of(span), claimStep(counter));
    }
    return this.#connection
      .ask((client) => runScript(client, peekScript, keys, args))
      .then((answer) => standingsOf(answer as number[], counters.length), unknown);
  }

  settle(given: Reservation, amounts: readonly number[]): void {
    const reservation = given as RedisReservation;
    if (reservation.settled) return;
    reservation.settled = true;
    const { claims, id, local } = reservation;
    if (id !== undefined) this.#leases.drop(id);
    if (local) this.#local.settle(local, amounts);
    if (id === undefined) this.#owed.charge(claims, amounts);
    else this.#owed.send(() => this.#settleThere(id, claims, amounts, local !== undefined));
  }

  hold(name: string, holder: string, forMs: number): boolean | Promise<boolean> {
    return this.#held.hold(name, holder, forMs);
  }

  keep(name: string, holder: string, forMs: number): void {
    this.#held.keep(name, holder, forMs);
  }

  release(name: string, holder: string): void {
    this.#held.release(name, holder);
  }

  get state(): StoreState {
    const { available, outages } = this.#connection;
    return { kind: "redis", available, outages, decidedWithout: this.#decidedWithout };
  }

  async close(): Promise<void> {
    this.#leases.close();
    await this.#owed.close(this.#closeMs);
  }

  /** @param id of a question that was asked and not answered */
  #without(claims: readonly Claim[], id?: string): Verdict {
    this.#decidedWithout++;
    const verdict = this.#onFailure === "open" ? this.#local.reserve(claims) : undefined;
    if (verdict?.granted) {
      const { reservation: local } = verdict;
      const reservation: RedisReservation = { claims, id, local, settled: false };
      return { ...verdict, reservation, alone: true };
    }
    if (id !== undefined) {
      this.#owed.send(() => this.#settleThere(id, claims, claims.map(nothing), true));
    }
    if (verdict) return { ...verdict, alone: true };
    throw new LintelError("unavailable", "limits can't be checked now");
  }

  /** @param unsure whether the store may not know of the call at all */
  async #settleThere(
    id: string,
    claims: readonly Claim[],
    amounts: readonly number[],
    unsure: boolean,
  ): Promise<void> {
    const keys = [`${this.#prefix}r:${id}`];
    const args: (string | number)[] = [this.#time(), id, unsure ? afterMs : 0];
    for (const [i, { counter, amount }] of claims.entries()) {
      const took = amounts[i] ?? amount;
      const { span, estimated } = counter;
      if (took === amount && span.type !== "running" && !estimated && !unsure) continue;
      keys.push(...this.#keysOf(counter));
      const what = [took - amount, took, this.#spans.of(span), claimStep(counter)];
      args.push(letters[span.type], ...what);
    }
    // Of such a call there is no reservation either.
    if (keys.length === 1 && !unsure) return;
    await this.#connection.ask((client) => runScript(client, settleScript, keys, args));
  }

  /** First argument of scripts; 0: the store's own clock. */
  #time(): number {
    return this.#clock?.() ?? 0;
  }

  /** Of a counter, and of what is claimed of it. */
  #keysOf({ key }: Claim["counter"]): [string, string] {
    return [this.#prefix + key, `${this.#prefix}claims:${key}`];
  }
}

const nothing = () => 0;

const runningKeys = (claims: readonly Claim[], prefix: string) =>
  claims.flatMap(({ counter }) => (counter.span.type === "running" ? [prefix + counter.key] : []));

function verdictOf(answer: readonly number[], claims: readonly Claim[], id: string): Verdict {
  const [refused = 0, wait = 0, ...rest] = answer;
  const standings = standingsOf(rest, claims.length);
  if (refused > 0) {
    return { granted: false, standings, refused: refused - 1, waitMs: timeTold(wait) };
  }
  const reservation: RedisReservation = { claims, id, settled: false };
  return { granted: true, standings, reservation };
}
