/** Replicas that count in a store which goes away, and what they count. */
import { afterEach, beforeEach, expect, vi } from "vitest";
import type { Claim, Counter, LimitStore, Verdict } from "../../../src/core/limits/store.js";
import type { Logger } from "../../../src/core/log.js";
import { type RedisLimitOptions, RedisLimits } from "../../../src/state/limits/redis.js";
import { RedisConnection } from "../../../src/state/redis/connection.js";
import { type RedisServer, startRedis } from "../../support/redis.js";

/** One of a counter. */
export const counter = (
  key: string,
  span: Counter["span"],
  limit: number,
  estimated = true,
): Claim => ({
  counter: { key, span, limit, estimated },
  amount: 1,
});

/** A request of so many in a minute. */
export const requests = (limit: number) =>
  counter("requests", { type: "sliding", ms: 60_000 }, limit, false);

/** Tokens of an estimate, in a minute. */
export const tokens = (amount: number, limit = 100): Claim => ({
  ...counter("tokens", { type: "sliding", ms: 60_000 }, limit),
  amount,
});

/** Images of an estimate, in a month. */
export const images = (amount: number, limit = 10): Claim => ({
  ...counter("images", { type: "calendar", period: "month" }, limit),
  amount,
});

/** A slot of so many calls at a time. */
export const slot = (limit: number) => counter("concurrent", { type: "running" }, limit, false);

/** A store that can be made to go away, replicas that count in it, and what they say of it. */
interface Replicas {
  /** Another one in each test. */
  server: RedisServer;
  readonly open: { readonly store: LimitStore; readonly connection: RedisConnection }[];
  readonly said: string[];
  readonly reasons: string[];
  replica(options?: RedisLimitOptions, timeoutMs?: number, url?: string): Promise<LimitStore>;
  /** Resolves when it knows that the store is back. */
  back(store: LimitStore): Promise<void>;
  /** Resolves when it knows that the store is away. */
  gone(store: LimitStore): Promise<void>;
}

/** For each test of the suite in which this is called. */
export function replicasAt(binary: string | undefined): Replicas {
  const open: Replicas["open"] = [];
  const said: string[] = [];
  const reasons: string[] = [];
  const log = {
    warn: ({ reason }: { reason: string }, message: string) => {
      said.push(`warn: ${message}`);
      reasons.push(reason);
    },
    info: (_: unknown, message: string) => said.push(`info: ${message}`),
  } as unknown as Logger;
  const here: Replicas = {
    server: undefined as unknown as RedisServer,
    open,
    said,
    reasons,
    async replica(
      options: RedisLimitOptions = {},
      timeoutMs = 100,
      url = here.server.url,
    ): Promise<LimitStore> {
      const connection = new RedisConnection({ url, timeoutMs }, log, "limits", options.onFailure);
      const store = new RedisLimits(connection, options);
      open.push({ store, connection });
      await connection.settled(1000);
      return store;
    },
    back: (store: LimitStore) => vi.waitFor(() => expect(store.state.available).toBe(true)),
    gone: (store: LimitStore) => vi.waitFor(() => expect(store.state.available).toBe(false)),
  };
  beforeEach(async () => {
    said.length = 0;
    reasons.length = 0;
    here.server = await startRedis({ binary });
  });
  afterEach(async () => {
    here.server.resume();
    for (const { store, connection } of open.splice(0)) {
      await store.close();
      await connection.close();
    }
    await here.server.close();
  });
  return here;
}

/** Milliseconds to wait for an answer that comes, however busy the machine. */
export const patient = 30_000;

/** What was granted. */
export function reservationOf(verdict: Verdict) {
  if (!verdict.granted) throw new Error("refused");
  return verdict.reservation;
}
