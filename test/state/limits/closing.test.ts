/** The end of a gateway whose store of limits is away just then. */
import { describe, expect, it, onTestFinished, vi } from "vitest";
import { silent } from "../../../src/core/log.js";
import { RedisLimits } from "../../../src/state/limits/redis.js";
import { RedisConnection } from "../../../src/state/redis/connection.js";
import { settled } from "../../support/clock.js";
import { redisBinary, redisServers, startRedis } from "../../support/redis.js";

const spend = {
  counter: {
    key: "spend",
    span: { type: "calendar", period: "month" },
    limit: 100,
    estimated: true,
  },
  amount: 40,
} as const;

describe.skipIf(!redisBinary).each(redisServers)(
  "the end of limits in %s that is away",
  (_, binary) => {
    async function opened(closeMs?: number) {
      const server = await startRedis({ binary });
      onTestFinished(() => server.close());
      const replica = async (timeoutMs = 100) => {
        const connection = new RedisConnection({ url: server.url, timeoutMs }, silent);
        onTestFinished(() => connection.close());
        await connection.settled(1000);
        const store = new RedisLimits(connection, { ...(closeMs !== undefined && { closeMs }) });
        /** As a gateway ends. */
        const end = async () => {
          await store.close();
          await connection.close();
        };
        return { store, end };
      };
      return { server, replica };
    }

    /** Lets a call begin there, and end while the server is deaf. */
    async function owing(closeMs?: number) {
      const { server, replica } = await opened(closeMs);
      const { store, end } = await replica();
      const verdict = await store.reserve([spend], 60_000);
      if (!verdict.granted) throw new Error("refused");
      server.pause();
      await store.peek([spend.counter]);
      await vi.waitFor(() => expect(store.state.available).toBe(false));
      store.settle(verdict.reservation, [1]);
      return { server, replica, end };
    }

    it("waits for it, since it has to hear what calls took of what they had reserved", async () => {
      const { server, replica, end } = await owing(60_000);
      const ending = end();
      server.resume();
      await ending;
      const { store } = await replica();
      expect(await store.peek([spend.counter])).toMatchObject([{ remaining: 99 }]);
    });

    it("waits for what is on its way to a store that only is slow", async () => {
      const { server, replica } = await opened();
      const { store } = await replica(60_000);
      const verdict = await store.reserve([spend], 60_000);
      if (!verdict.granted) throw new Error("refused");
      server.pause();
      store.settle(verdict.reservation, [1]);
      let ended = false;
      const ending = store.close().then(() => {
        ended = true;
      });
      await settled();
      expect(ended).toBe(false);
      server.resume();
      await ending;
      const { store: other } = await replica();
      expect(await other.peek([spend.counter])).toMatchObject([{ remaining: 99 }]);
    });

    it("does not wait for ever", async () => {
      const { end } = await owing(1);
      await end();
    });

    it("waits for nobody who has nothing to hear", async () => {
      const { server, replica } = await opened(2 ** 30);
      const { store, end } = await replica();
      await server.kill();
      await vi.waitFor(() => expect(store.state.available).toBe(false));
      await end();
    });
  },
);
