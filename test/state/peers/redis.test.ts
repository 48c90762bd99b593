/** Gateways that meet in a real Redis. */
import { afterAll, beforeAll, describe, expect, it, onTestFinished } from "vitest";
import type { Core } from "../../../src/core/core.js";
import { type Logger, silent } from "../../../src/core/log.js";
import type { Report } from "../../../src/core/routing/peers.js";
import { redisPeers } from "../../../src/state/peers/redis.js";
import { RedisConnection } from "../../../src/state/redis/connection.js";
import { FakeClock } from "../../support/clock.js";
import { coreOf, run } from "../../support/core.js";
import { type RedisServer, redisBinary, redisServers, startRedis } from "../../support/redis.js";
import { backend, equals, fails, hello, routing, stateOf } from "../../support/routing.js";

const nothing: Report = { out: [], running: [] };
const told = (name: string): Report => ({
  out: [name],
  running: [["a\nm", name, 2]],
  used: [["a\nm", 3, 40]],
});

describe.skipIf(!redisBinary).each(redisServers)("peers in %s", (_, binary) => {
  let server: RedisServer;
  beforeAll(async () => {
    server = await startRedis({ binary });
  });
  afterAll(() => server.close());

  let prefixes = 0;
  /** Connections of gateways that meet nobody but each other. */
  async function connections(count: number): Promise<RedisConnection[]> {
    const keyPrefix = `test-${prefixes++}:`;
    const opened = Array.from({ length: count }, () => {
      const timeoutMs = 2000;
      return new RedisConnection({ url: server.url, keyPrefix, timeoutMs }, silent);
    });
    onTestFinished(async () => {
      await Promise.all(opened.map((connection) => connection.close()));
    });
    await Promise.all(opened.map((connection) => connection.settled(5000)));
    return opened;
  }
  const join = async (count: number, goneMs?: number) =>
    (await connections(count)).map((connection) => redisPeers(connection, goneMs).join());

  it("hear what all others told last, and not themselves", async () => {
    const [a, b, c] = await join(3);
    if (!a || !b || !c) throw new Error("three");
    expect(await a.exchange(told("a"))).toEqual([]);
    expect(await b.exchange(told("b"))).toEqual([told("a")]);
    expect(await a.exchange(nothing)).toEqual([told("b")]);
    const heard = await c.exchange(told("c"));
    expect(heard).toHaveLength(2);
    expect(heard).toEqual(expect.arrayContaining([nothing, told("b")]));
  });
  it("do not hear who left, nor who fell silent", async () => {
    const [a, b] = await join(2);
    await a?.exchange(told("a"));
    a?.leave();
    await expect.poll(() => b?.exchange(nothing)).toEqual([]);
    const [killed, other] = await join(2, 1);
    await killed?.exchange(told("a"));
    await expect.poll(() => other?.exchange(nothing)).toEqual([]);
  });
  it("are not misled by what nobody can read", async () => {
    const [connection, other] = await connections(2);
    const [a, b] = [connection, other].map((it) => redisPeers(it as RedisConnection).join());
    await a?.exchange(told("a"));
    const key = `${connection?.keyPrefix}{limits}:peers`;
    const time = Date.now() + 1000;
    await connection?.client.hset(key, "odd", "no time", "new", `${time} {"version": 9}`);
    await connection?.client.hset(key, "cut", `${time} {"out": [`);
    expect(await b?.exchange(nothing)).toEqual([told("a")]);
  });
  it("hear nothing at once while the store is away, and each other when it is back", async () => {
    const [a, b] = await join(2);
    await a?.exchange(told("a"));
    await server.kill();
    expect(await b?.exchange(told("b"))).toEqual([]);
    await server.start();
    await expect
      .poll(async () => {
        await a?.exchange(told("a"));
        return b?.exchange(told("b"));
      })
      .toEqual([told("a")]);
  });
  it("tell gateways that a target is out", async () => {
    const clock = new FakeClock();
    const all = [backend("a", fails("unavailable")), backend("b")];
    const heard: string[] = [];
    const log = { ...silent, info: (_: object, text?: string) => heard.push(text ?? "") } as Logger;
    const cores = (await connections(2)).map((connection) => {
      const settings = { routing: routing({ retry: { attempts: 1 } }), models: equals(all) };
      return coreOf(all, settings, { clock, log, peers: redisPeers(connection) });
    });
    for (const core of cores) core.routing.start();
    const [first, second] = cores;
    if (!first || !second) throw new Error("two");
    const ask = (core: Core) => run(core, "chat", hello).catch(() => {});
    while (stateOf(first, "a").state === "in") await ask(first);
    await expect
      .poll(async () => {
        await clock.advance(1000);
        return heard;
      })
      .toContain("another gateway has taken a target out");
    while (stateOf(second, "a").attempts === 0) await ask(second);
    expect(stateOf(second, "a")).toMatchObject({ state: "out", failures: 1 });
    for (const core of cores) core.routing.close();
  });
});
