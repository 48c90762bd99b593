/** Which answers are kept for who asks the same, and where. */
import * as z from "zod";
import type { CacheSettings } from "../core/settings.js";
import type { CacheStoreSettings } from "../state/cache/open.js";
import { period, periodOrNone, size } from "./quantities.js";
import { redisConnection, redisSettings } from "./redis.js";
import type { Config } from "./schema.js";

/** Ages are counted in seconds. */
const leastMs = 1000;
const isLongEnough = (ms: number) => ms === 0 || ms >= leastMs;
const tooShort = { error: "must be at least 1s" };

/** The section `cache` of the configuration. */
export const cacheSchema = z.strictObject({
  ttl: period
    .refine(isLongEnough, tooShort)
    .optional()
    .describe(
      "How long answers of chat models are kept for who asks the same. Default: those of models with a cache_ttl are, and no others.",
    ),
  scope: z
    .enum(["caller", "team", "all"])
    .default("caller")
    .describe(
      "Whose answers a caller gets: their own, those of their team (their own without one), or everybody's.",
    ),
  max_answer: size.prefault("1MiB").describe("Largest answer that is kept."),
  max_bytes: size
    .prefault("64MiB")
    .describe(
      "Room in memory for all answers; those that nobody asked for the longest go first. Not for those in Redis.",
    ),
  redis: redisConnection("cache.redis")
    .optional()
    .describe(
      "Where gateways and workers keep them together: best one of its own that makes room by itself (maxmemory-policy allkeys-lru). Default: each for itself, in memory.",
    ),
});

/** `cache_ttl` of a model. */
export const cacheTtl = () =>
  periodOrNone
    .refine(isLongEnough, tooShort)
    .optional()
    .describe(
      "How long its answers are kept for who asks the same, if it is a chat model; 0s: not at all. Default: cache.ttl.",
    );

/** The core's part. */
export const cacheSettings = ({ cache }: Config): CacheSettings => ({
  ttlMs: cache.ttl,
  scope: cache.scope,
  maxAnswerBytes: cache.max_answer,
});

/** Whether answers of any model are kept. */
export const caches = ({ cache, models }: Config): boolean =>
  cache.ttl !== undefined || models.some(({ cache_ttl }) => cache_ttl);

/**
 * The store's part.
 * @throws Error if a certificate or its key can't be used
 */
export function cacheStoreSettings({ cache }: Config): CacheStoreSettings {
  const { redis, max_answer, max_bytes } = cache;
  return {
    redis: redis && redisSettings("cache.redis", redis),
    maxBytes: max_bytes,
    maxAnswerBytes: max_answer,
  };
}
