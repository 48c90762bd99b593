/** The end of a gateway's stores where what they talk to hangs. */
import { once } from "node:events";
import { type AddressInfo, createServer } from "node:net";
import { expect, onTestFinished, test, vi } from "vitest";
import { silent } from "../../src/core/log.js";
import { createToken } from "../../src/core/tokens.js";
import { openState } from "../../src/state/open.js";
import { RedisConnection } from "../../src/state/redis/connection.js";
import { closeStores } from "../../src/stores.js";
import { redisBinary, startRedis } from "../support/redis.js";

test("all are closed at once: none waits for another to have ended", async () => {
  const names = ["telemetry", "blurring", "media", "counting", "cache", "state"] as const;
  const begun: string[] = [];
  let all = () => {};
  const together = new Promise<void>((resolve) => {
    all = resolve;
  });
  const hanging = names.map((name) => {
    const close = () => {
      if (begun.push(name) === names.length) all();
      return together;
    };
    return [name, { close }];
  });
  await closeStores(Object.fromEntries(hanging));
  expect(begun.sort()).toEqual([...names].sort());
});

test("a database that hangs holds up the end for 2 seconds", async () => {
  const server = createServer().listen(0, "127.0.0.1");
  await once(server, "listening");
  const { port } = server.address() as AddressInfo;
  const connected = once(server, "connection");
  const database = `postgres://lintel@127.0.0.1:${port}/lintel`;
  const tokens = { refreshMs: 5000, whenAway: "refuse" } as const;
  const state = await openState({ database, tokens }, silent);
  vi.useFakeTimers({ toFake: ["setTimeout", "clearTimeout"] });
  onTestFinished(() => {
    vi.useRealTimers();
    server.close();
  });
  const refused = expect(state.tokens?.find(createToken())).rejects.toMatchObject({
    code: "unavailable",
  });
  const [socket] = await connected;
  onTestFinished(() => socket.destroy());
  const closing = state.close();
  await vi.advanceTimersByTimeAsync(2000);
  await closing;
  await refused;
});

test.runIf(redisBinary)("a Redis that stands still holds up the end for its time-out", async () => {
  const server = await startRedis();
  onTestFinished(() => server.close());
  // For as much as that a connection that says nothing is waited for, a quarter of an hour.
  const largestBytes = 4 * 1024 ** 3;
  const connection = new RedisConnection({ url: server.url, largestBytes }, silent);
  await connection.settled(5000);
  expect(connection.available).toBe(true);
  server.pause();
  await connection.close();
  expect(connection.available).toBe(false);
});
