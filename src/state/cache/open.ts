/** Opens where answers are kept for who asks the same. */
import type { AnswerCache } from "../../core/cache/store.js";
import type { Logger } from "../../core/log.js";
import type { RedisSettings } from "../redis/client.js";
import { startMs } from "../redis/patience.js";
import { memoryCache } from "./memory.js";

/** What is opened. */
export interface CacheStoreSettings {
  /** Absent: in memory. */
  readonly redis?: RedisSettings | undefined;
  /** Room in memory. */
  readonly maxBytes: number;
  /** Of one answer. */
  readonly maxAnswerBytes: number;
}

/** A store, and how its connection is, where it has one. */
export interface OpenCache extends AnswerCache {
  readonly connection?: { readonly away: boolean; readonly outages: number } | undefined;
}

/** Opens it. Resolves also if Redis is away. */
export async function openCache(settings: CacheStoreSettings, log: Logger): Promise<OpenCache> {
  const { redis, maxBytes, maxAnswerBytes } = settings;
  if (!redis) return memoryCache(maxBytes);
  const [{ RedisConnection }, { redisCache }] = await Promise.all([
    import("../redis/connection.js"),
    import("./redis.js"),
  ]);
  const connection = new RedisConnection({ ...redis, largestBytes: maxAnswerBytes }, log, "cache");
  await connection.settled(startMs);
  return { ...redisCache(connection, maxAnswerBytes), connection };
}
