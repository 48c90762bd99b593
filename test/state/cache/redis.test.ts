import { execFileSync } from "node:child_process";
import { performance } from "node:perf_hooks";
import { setImmediate as turn } from "node:timers/promises";
import { afterAll, beforeAll, describe, expect, it, onTestFinished, vi } from "vitest";
import { silent } from "../../../src/core/log.js";
import { openCache } from "../../../src/state/cache/open.js";
import { outcome } from "../../support/calls.js";
import { coreOf } from "../../support/core.js";
import { freePort } from "../../support/port.js";
import { type RedisServer, redisBinary, redisServers, startRedis } from "../../support/redis.js";
import { says, scripted } from "../../support/scripted.js";
import { cacheContract, nameOf } from "./contract.js";

const settings = { maxBytes: 1_000_000, maxAnswerBytes: 1_000_000 };
const open = (url: string, keyPrefix = "lintel:") =>
  openCache({ ...settings, redis: { url, keyPrefix } }, silent);

it("knows nothing, and fails nobody, while it is away from the start", async () => {
  const told: object[] = [];
  const warn = (fields: object, message: string) => told.push({ ...fields, message });
  const redis = { url: `redis://127.0.0.1:${await freePort()}` };
  const store = await openCache({ ...settings, redis }, { ...silent, warn });
  store.put(nameOf("a"), Uint8Array.of(1), 60_000);
  expect(await store.get(nameOf("a"))).toBeUndefined();
  expect(store.connection).toMatchObject({ away: true, outages: 1 });
  await store.close();
  expect(told).toEqual([
    {
      ...{ store: "redis", keeps: "cache" },
      reason: expect.stringContaining("ECONNREFUSED"),
      message: "the store is away: deciding without it until it is back",
    },
  ]);
});

describe.skipIf(!redisBinary).each(redisServers)("answers in %s", (_, binary) => {
  let server: RedisServer;
  beforeAll(async () => {
    server = await startRedis({ binary });
  });
  afterAll(() => server.close());

  cacheContract("for all replicas", () => open(server.url));

  it("keeps them for as long as it is told, under its prefix", async () => {
    const store = await open(server.url, "mine:");
    store.put(nameOf("ttl"), Uint8Array.of(1), 60_000);
    await expect.poll(async () => store.get(nameOf("ttl"))).toBeDefined();
    const { RedisConnection } = await import("../../../src/state/redis/connection.js");
    const other = new RedisConnection({ url: server.url }, silent);
    await other.settled(5000);
    const ms = await other.client.pttl(`mine:cache:${nameOf("ttl")}`);
    expect(ms).toBeGreaterThan(50_000);
    expect(ms).toBeLessThanOrEqual(60_000);
    await Promise.all([store.close(), other.close()]);
  });

  it("has no connection any more once it is closed", async () => {
    const own = await startRedis({ binary });
    onTestFinished(() => own.close());
    const others = () =>
      execFileSync("redis-cli", ["-p", `${own.port}`, "client", "list"], { encoding: "utf8" })
        .split("\n")
        .filter((line) => line !== "" && !line.includes("cmd=client"));
    const store = await open(own.url);
    expect(others()).toHaveLength(1);
    await store.close();
    await vi.waitFor(() => expect(others()).toEqual([]));
    expect(await store.get(nameOf("a"))).toBeUndefined();
  });

  it("gives a replica what another one's model said", async () => {
    const [one, other] = await Promise.all([open(server.url), open(server.url)]);
    const backends = [scripted({ chat: says("a") }), scripted({ chat: says("b") })] as const;
    const cache = { ttlMs: 60_000, scope: "caller", maxAnswerBytes: 1000 } as const;
    const cores = [
      coreOf([backends[0]], { cache }, { cache: one }),
      coreOf([backends[1]], { cache }, { cache: other }),
    ] as const;
    const ask = async (core: (typeof cores)[number]) => {
      const request = { messages: [{ role: "user", content: "Hello" }] };
      const { messages, metadata } = await outcome(core, "complete", request);
      const said = messages[0]?.choices[0]?.message?.content;
      return [said, metadata.get("cache-status")?.replace(/\d+/, "N")];
    };
    expect(await ask(cores[0])).toEqual(["a", "lintel; fwd=miss"]);
    const hit = ["a", "lintel; hit; ttl=N"];
    await expect.poll(() => ask(cores[0])).toEqual(hit);
    expect(await ask(cores[1])).toEqual(hit);
    await Promise.all([one.close(), other.close()]);
  });

  it("goes on without a store that dies, and with it once it is back", async () => {
    const dying = await startRedis({ binary });
    const store = await open(dying.url);
    store.put(nameOf("a"), Uint8Array.of(1), 60_000);
    await expect.poll(async () => store.get(nameOf("a"))).toBeDefined();
    await dying.kill();
    expect(await store.get(nameOf("a"))).toBeUndefined();
    store.put(nameOf("a"), Uint8Array.of(2), 60_000);
    await expect.poll(() => store.connection?.away).toBe(true);
    await dying.start();
    await expect.poll(() => store.connection?.away).toBe(false);
    store.put(nameOf("a"), Uint8Array.of(3), 60_000);
    await expect.poll(async () => store.get(nameOf("a"))).toEqual(Buffer.of(3));
    await store.close();
    await dying.close();
  });

  it("has nobody wait behind all the others for a store that hangs", async () => {
    const hanging = await startRedis({ binary });
    onTestFinished(() => hanging.close());
    const store = await open(hanging.url);
    onTestFinished(() => store.close());
    store.put(nameOf("a"), Uint8Array.of(1), 60_000);
    await expect.poll(async () => store.get(nameOf("a"))).toBeDefined();
    vi.useFakeTimers({ toFake: ["setTimeout", "clearTimeout"] });
    onTestFinished(() => void vi.useRealTimers());
    let now = performance.now();
    const clock = vi.spyOn(performance, "now").mockImplementation(() => now);
    onTestFinished(() => clock.mockRestore());
    hanging.pause();
    onTestFinished(() => hanging.resume());
    let waiting = 100;
    const ask = async () => {
      await store.get(nameOf("a"));
      waiting--;
    };
    for (let i = 0; i < 100; i++) void ask();
    // Of each a megabyte may be on its way, which takes a quarter of a second.
    for (let ms = 0; ms < 600; ms += 50) {
      now += 50;
      await vi.advanceTimersByTimeAsync(50);
      await turn();
    }
    expect(waiting).toBe(0);
  });
});
