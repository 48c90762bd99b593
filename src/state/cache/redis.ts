/** Answers in Redis or Valkey, for all replicas together. */
import type { AnswerCache } from "../../core/cache/store.js";
import type { RedisConnection } from "../redis/connection.js";

/**
 * Makes a store on a connection, which it closes.
 * @param largestBytes of an answer that is read
 */
export function redisCache(connection: RedisConnection, largestBytes: number): AnswerCache {
  const keyOf = (name: string) => `${connection.keyPrefix}cache:${name}`;
  return {
    async get(name) {
      const key = keyOf(name);
      try {
        const found = await connection.ask((client) => client.getBuffer(key), largestBytes, key);
        return found ?? undefined;
      } catch {
        return undefined;
      }
    },
    put(name, { buffer, byteOffset, length }, ttlMs) {
      const key = keyOf(name);
      const answer = Buffer.from(buffer, byteOffset, length);
      connection
        .ask((client) => client.set(key, answer, "PX", ttlMs), length, key)
        // Who asks next asks a model.
        .catch(() => {});
    },
    close: () => connection.close(),
  };
}
