/** Where calls are counted, first answers kept, and targets told of: in this process, or in Redis for all replicas. */
import type { IdempotencyStore } from "../core/idempotency/store.js";
import type { PastLimits } from "../core/limits/history.js";
import type { LimitStore } from "../core/limits/store.js";
import type { Logger } from "../core/log.js";
import type { Peers } from "../core/routing/peers.js";
import { type TimeZone, utc } from "../core/time-zone.js";
import type { UsageHistory } from "../core/usage/history.js";
import type { IdempotencyOptions } from "./idempotency/answers.js";
import { MemoryIdempotency } from "./idempotency/memory.js";
import { memoryLimits } from "./limits/memory.js";
import { type LimitChange, PastUsage, unchanged } from "./limits/past.js";
import type { RedisSettings } from "./redis/client.js";
import { startMs } from "./redis/patience.js";

/** What is opened. */
export interface CountingSettings extends PastLimits {
  /** By whose clocks days, weeks and months begin. Default: UTC. */
  readonly zone?: TimeZone | undefined;
  /** Absent: in memory. */
  readonly redis?: RedisSettings & {
    readonly onFailure: "open" | "closed";
    readonly replicas: number;
  };
  /** Absent: answers are not kept. */
  readonly idempotency?: IdempotencyOptions | undefined;
}

/** The stores, opened. */
export interface Counting {
  readonly limits: LimitStore;
  readonly idempotency: IdempotencyStore | undefined;
  /** How the answers' connection is, where they are kept in Redis. */
  readonly answers: { readonly away: boolean; readonly outages: number } | undefined;
  /** Other gateways on the same store. */
  readonly peers: Peers | undefined;
  /**
   * Calls that begin from here on come under these limits. Where counters go on from what was used,
   * those of new limits do, too.
   */
  change(limits: PastLimits): LimitChange;
  close(): Promise<void>;
}

/**
 * Opens the stores. Resolves also if Redis is away: then it is as if it went away later.
 * @param history what counters in memory go on from, whenever it is read; a failure is said in the log
 */
export async function openCounting(
  settings: CountingSettings,
  log: Logger,
  history?: UsageHistory,
): Promise<Counting> {
  const { redis, idempotency, zone = utc } = settings;
  if (redis) return openRedis(redis, idempotency, zone, log);
  const limits = memoryLimits({ zone });
  const kept = idempotency && new MemoryIdempotency(idempotency);
  const past = history && new PastUsage(history, limits, log, zone);
  await past?.restore(settings, startMs);
  return {
    limits,
    idempotency: kept,
    answers: undefined,
    peers: undefined,
    change: (changed) => past?.change(changed, startMs) ?? unchanged,
    async close() {
      past?.close();
      await limits.close();
      await kept?.close();
    },
  };
}

async function openRedis(
  redis: NonNullable<CountingSettings["redis"]>,
  idempotency: CountingSettings["idempotency"],
  zone: TimeZone,
  log: Logger,
): Promise<Counting> {
  const [{ RedisConnection }, { RedisLimits }, { redisIdempotency }, { redisPeers }] =
    await Promise.all([
      import("./redis/connection.js"),
      import("./limits/redis.js"),
      import("./idempotency/redis.js"),
      import("./peers/redis.js"),
    ]);
  const { onFailure, replicas, ...address } = redis;
  const connection = new RedisConnection(address, log, "limits", onFailure);
  const limits = new RedisLimits(connection, { onFailure, replicas, zone });
  // Megabytes that are on their way would hold up what is asked behind them.
  const answers =
    idempotency &&
    new RedisConnection(
      { ...address, largestBytes: idempotency.maxAnswerBytes },
      log,
      "answers",
      onFailure,
    );
  const kept = answers && redisIdempotency(answers, { ...idempotency, onFailure });
  await Promise.all([connection.settled(startMs), answers?.settled(startMs)]);
  return {
    limits,
    idempotency: kept,
    answers,
    peers: redisPeers(connection),
    change: () => unchanged,
    async close() {
      await Promise.all([limits.close(), kept?.close()]);
      await Promise.all([connection.close(), answers?.close()]);
    },
  };
}
