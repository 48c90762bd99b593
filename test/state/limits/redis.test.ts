import { afterAll, beforeAll, describe } from "vitest";
import { silent } from "../../../src/core/log.js";
import { redisLimits } from "../../../src/state/limits/redis.js";
import { RedisConnection } from "../../../src/state/redis/connection.js";
import { type RedisServer, redisBinary, redisServers, startRedis } from "../../support/redis.js";
import { limitContract } from "./contract.js";

describe.skipIf(!redisBinary).each(redisServers)("limits in %s", (_, binary) => {
  let server: RedisServer;
  beforeAll(async () => {
    server = await startRedis({ binary });
  });
  afterAll(() => server.close());

  limitContract("for all replicas", async (clock) => {
    const opened: RedisConnection[] = [];
    await Promise.all(
      [0, 1, 2].map(async () => {
        const connection = new RedisConnection({ url: server.url }, silent);
        await connection.settled(5000);
        opened.push(connection);
      }),
    );
    let next = 0;
    const stores = opened.map((c) => redisLimits(c, { clock: () => clock.now }));
    return {
      replica: () => stores[next++ % stores.length] as (typeof stores)[number],
      async arrived() {
        // Answers come in the order of the questions.
        await Promise.all(opened.map(({ client }) => client.ping()));
      },
      async close() {
        await Promise.all(stores.map((store) => store.close()));
        await Promise.all(opened.map((connection) => connection.close()));
      },
    };
  });
});
