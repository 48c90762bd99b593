import { afterAll, beforeAll, describe, expect, it, onTestFinished, vi } from "vitest";
import { silent } from "../../../src/core/log.js";
import { RedisLimits } from "../../../src/state/limits/redis.js";
import { RedisConnection } from "../../../src/state/redis/connection.js";
import { coreOf, run } from "../../support/core.js";
import { type RedisServer, redisBinary, redisServers, startRedis } from "../../support/redis.js";
import { backend, gate, hello } from "../../support/routing.js";
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
    const stores = opened.map((c) => new RedisLimits(c, { clock: () => clock.now }));
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

  it("knows what a call claimed for as long as the call may last", async () => {
    const connection = new RedisConnection({ url: server.url, keyPrefix: "long:" }, silent);
    await connection.settled(5000);
    const store = new RedisLimits(connection);
    onTestFinished(async () => {
      await store.close();
      await connection.close();
    });
    const hours = 3_600_000;
    const answer = gate();
    const core = coreOf(
      [backend("a", answer.handle)],
      {
        models: [{ name: "m", targets: [{ backend: "a" }], timeouts: { total: 30 * hours } }],
        totalTimeoutMs: 2 * hours,
      },
      {
        limits: { settings: { global: { tokensPerMinute: 1000 }, models: [] }, prices: [], store },
      },
    );
    const call = run(core, "chat", hello);
    await vi.waitFor(() => expect(answer.begun).toBe(1));
    const [key = ""] = await connection.client.keys("long:*:r:*");
    expect(await connection.client.pttl(key)).toBeGreaterThan(30 * hours);
    answer.open();
    await call;
  });
});
