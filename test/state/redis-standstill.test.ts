/** A Redis that stands still for so long that its connections are given up, also those that are made meanwhile. */
import { expect, onTestFinished, test } from "vitest";
import { silent } from "../../src/core/log.js";
import { RedisConnection } from "../../src/state/redis/connection.js";
import { redisServers, startRedis } from "../support/redis.js";

test.each(redisServers.filter(([, binary]) => binary))(
  "%s is there again once it goes on",
  { timeout: 30_000 },
  async (_, binary) => {
    const server = await startRedis({ binary });
    onTestFinished(() => server.close());
    const connection = new RedisConnection({ url: server.url, timeoutMs: 50 }, silent);
    onTestFinished(() => connection.close());
    await connection.settled(5000);
    let closed = 0;
    connection.client.on("close", () => closed++);
    server.pause();
    await connection.ask((client) => client.ping()).catch(() => {});
    // The system still takes connections for it, on which nothing is answered.
    await expect.poll(() => closed, { timeout: 20_000 }).toBeGreaterThanOrEqual(3);
    expect(connection.available).toBe(false);
    server.resume();
    await expect.poll(() => connection.available, { timeout: 5000 }).toBe(true);
  },
);
