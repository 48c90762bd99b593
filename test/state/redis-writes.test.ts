/** How often what is asked of Redis is written to a connection. */
import { Socket } from "node:net";
import { describe, expect, it, onTestFinished, vi } from "vitest";
import { silent } from "../../src/core/log.js";
import { RedisConnection } from "../../src/state/redis/connection.js";
import { startCluster } from "../support/cluster.js";
import { redisBinary, startRedis } from "../support/redis.js";

async function connected(url: string | readonly string[]) {
  const connection = new RedisConnection({ url }, silent);
  onTestFinished(() => connection.close());
  await vi.waitFor(() => expect(connection.available).toBe(true));
  return connection;
}

/** Sets and reads as often as it is said, in one turn; how many writes that took. */
async function writesOf(connection: RedisConnection, times: number): Promise<number> {
  const writes = (["_write", "_writev"] as const).map((name) =>
    vi.spyOn(Socket.prototype as Required<Socket>, name),
  );
  const answers = await Promise.all(
    Array.from({ length: times }, async (_, i) => {
      const set = connection.ask((client) => client.set("{limits}:n", i));
      const got = connection.ask((client) => client.get("{limits}:n"));
      return [await set, await got];
    }),
  );
  expect(answers).toEqual(answers.map((_, i) => ["OK", `${i}`]));
  const count = writes.reduce((sum, { mock }) => sum + mock.calls.length, 0);
  for (const write of writes) write.mockRestore();
  return count;
}

describe.skipIf(!redisBinary)("what is asked in one turn of the event loop", () => {
  it("goes in one write, over a connection that was lost before too", async () => {
    const server = await startRedis();
    onTestFinished(() => server.close());
    const connection = await connected(server.url);
    expect(await writesOf(connection, 20)).toBe(1);
    await server.kill();
    await vi.waitFor(() => expect(connection.available).toBe(false));
    await server.start();
    await vi.waitFor(() => expect(connection.available).toBe(true), 5000);
    expect(await writesOf(connection, 20)).toBe(1);
  });

  it("goes to a cluster's node in one write", async () => {
    const [node] = await startCluster(1);
    const connection = await connected([node?.url ?? ""]);
    // The first question connects to the node.
    await connection.ask((client) => client.get("{limits}:n"));
    expect(await writesOf(connection, 20)).toBe(1);
  });
});
