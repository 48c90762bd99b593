/** Limits counted in Redis or Valkey, for all replicas together. */
import { randomBytes } from "node:crypto";
import { LintelError } from "../../core/errors.js";
import { periodAt } from "../../core/limits/period.js";
import type {
  Claim,
  LimitStore,
  Reservation,
  Standing,
  StoreState,
  Verdict,
} from "../../core/limits/store.js";
import type { RedisConnection } from "../redis/connection.js";
import { preload, runScript } from "../redis/script.js";
import { stepsPerWindow } from "./counts.js";
import { Leases } from "./leases.js";
import { memoryLimits } from "./memory.js";
import { Owed } from "./owed.js";
import { chargeScript, renewScript, reserveScript, settleScript } from "./scripts.js";

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
}

/** How long what a call may have taken too much is remembered after its deadline: its end may wait for the store. */
const afterMs = 3_600_000;

/** How long estimates of a calendar period count as what calls that run may give back. The same for all replicas. */
const claimsMs = 3_600_000;

interface RedisReservation extends Reservation {
  /** Absent: the store was not asked. */
  readonly id: string | undefined;
  /** What was counted in this process instead, or as well where nobody knows. */
  readonly local?: Reservation | undefined;
  settled: boolean;
}

/**
 * Makes a store on a connection, which stays its owner's. One question for each
 * call; what is put right at the end is sent without waiting.
 */
export function redisLimits(
  connection: RedisConnection,
  options: RedisLimitOptions = {},
): LimitStore {
  const { onFailure = "open", replicas = 1, leaseMs = 30_000, clock } = options;
  const ownClock = clock ?? Date.now;
  const local = memoryLimits({ clock, replicas });
  // One tag for all keys: a call's counters have to be in one slot of a cluster.
  const prefix = `${connection.keyPrefix}{limits}:`;
  preload(connection, [reserveScript, settleScript, renewScript, chargeScript]);
  const time = () => (clock ? clock() : 0);
  const leases = new Leases(connection, leaseMs, time);
  const owed = new Owed(connection, prefix, time);
  const replica = randomBytes(9).toString("base64url");
  let made = 0;
  let decidedWithout = 0;
  /** Of a reservation, milliseconds. */
  const lifeOf = (deadline = 0) => Math.ceil(Math.max(0, deadline - ownClock())) + afterMs;
  /** Of a counter, and of what is claimed of it. */
  const keysOf = ({ key }: Claim["counter"]) => [prefix + key, `${prefix}claims:${key}`];

  /** @param id of a question that was asked and not answered */
  const without = (claims: readonly Claim[], id?: string): Verdict => {
    decidedWithout++;
    const verdict = onFailure === "open" ? local.reserve(claims) : undefined;
    if (verdict?.granted) {
      const own = verdict.reservation;
      const reservation: RedisReservation = { claims, id, local: own, settled: false };
      return { ...verdict, reservation };
    }
    if (id !== undefined) owed.send(() => settleThere(id, claims, claims.map(nothing), true));
    if (verdict) return verdict;
    throw new LintelError("unavailable", "limits can't be checked now");
  };

  /** @param unsure whether the store may not know of the call at all */
  const settleThere = async (
    id: string,
    claims: readonly Claim[],
    amounts: readonly number[],
    unsure: boolean,
  ) => {
    const keys = [`${prefix}r:${id}`];
    const args: (string | number)[] = [time(), id, unsure ? afterMs : 0];
    for (const [i, { counter, amount }] of claims.entries()) {
      const took = amounts[i] ?? amount;
      const { span, estimated } = counter;
      if (took === amount && span.type !== "running" && !estimated && !unsure) continue;
      const [step] = spanArguments(span, ownClock());
      keys.push(...keysOf(counter));
      args.push(letters[span.type], took - amount, took, step, claimStep(counter));
    }
    await connection.ask((client) => runScript(client, settleScript, keys, args));
  };

  return {
    reserve(claims, deadline) {
      if (!connection.available) return without(claims);
      const id = `${replica}-${(made++).toString(36)}`;
      const keys = [`${prefix}r:${id}`];
      const corrected = claims.some(({ counter }) => counter.estimated);
      const life = corrected ? lifeOf(deadline) : 0;
      const args: (string | number)[] = [time(), life, id, leaseMs];
      for (const { counter, amount } of claims) {
        keys.push(...keysOf(counter));
        const { span, limit } = counter;
        const [from, to] = spanArguments(span, ownClock());
        args.push(letters[span.type], limit, amount, from, to, claimStep(counter));
      }
      return connection
        .ask((client) => runScript(client, reserveScript, keys, args))
        .then(
          (answer) => {
            const verdict = verdictOf(answer as number[], claims, id);
            if (verdict.granted) leases.hold(id, runningKeys(claims, prefix));
            return verdict;
          },
          // It may have been counted there, just before the answer was lost.
          () => without(claims, id),
        );
    },
    settle(given, amounts) {
      const { claims, id, local: own, settled } = given as RedisReservation;
      if (settled) return;
      (given as RedisReservation).settled = true;
      if (id !== undefined) leases.drop(id);
      if (own) local.settle(own, amounts);
      if (id === undefined) owed.charge(claims, amounts, ownClock());
      else owed.send(() => settleThere(id, claims, amounts, own !== undefined));
    },
    get state(): StoreState {
      const { available, outages } = connection;
      return { kind: "redis", available, outages, decidedWithout };
    },
    async close() {
      leases.close();
      await owed.close();
    },
  };
}

const nothing = () => 0;

const letters = { sliding: "s", calendar: "c", running: "r" } as const;

const runningKeys = (claims: readonly Claim[], prefix: string) =>
  claims.flatMap(({ counter }) => (counter.span.type === "running" ? [prefix + counter.key] : []));

/** The two arguments of a counter that depend on its kind. */
function spanArguments(span: Claim["counter"]["span"], now: number): [number, number] {
  switch (span.type) {
    case "sliding":
      return [span.ms / stepsPerWindow, 0];
    case "calendar": {
      const { start, end } = periodAt(span.period, now);
      return [start, end];
    }
    case "running":
      return [0, 0];
  }
}

/** Step of a counter's claims; 0: what it counts is no estimate. */
function claimStep({ span, estimated }: Claim["counter"]): number {
  if (!estimated) return 0;
  return (span.type === "sliding" ? span.ms : claimsMs) / stepsPerWindow;
}

function verdictOf(answer: readonly number[], claims: readonly Claim[], id: string): Verdict {
  const [refused = 0, wait = 0, ...rest] = answer;
  const standings: Standing[] = claims.map((_, i) => ({
    remaining: rest[2 * i] ?? 0,
    resetMs: rest[2 * i + 1] ?? 0,
  }));
  if (refused > 0) {
    const waitMs = wait < 0 ? Number.POSITIVE_INFINITY : wait;
    return { granted: false, standings, refused: refused - 1, waitMs };
  }
  const reservation: RedisReservation = { claims, id, settled: false };
  return { granted: true, standings, reservation };
}
