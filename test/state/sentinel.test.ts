/** Stores in a Redis that Sentinel watches. */
import { execFileSync } from "node:child_process";
import { describe, expect, it, onTestFinished, vi } from "vitest";
import type { Claim } from "../../src/core/limits/store.js";
import type { Logger } from "../../src/core/log.js";
import { type Counting, openCounting } from "../../src/state/counting.js";
import { type RedisServer, redisBinary, redisServers, startRedis } from "../support/redis.js";
import { startSentinels } from "../support/sentinel.js";
import { ofDay } from "./claims.js";

const images = (amount: number): Claim => ({
  counter: ofDay("caller:alice:images", 100),
  amount,
});

/** How long a real failover may take on a busy machine. */
const slowly = { timeout: 40_000, interval: 100 };

/**
 * A primary, its replica, and three sentinels that found it and each other.
 * @param settings of both servers
 */
async function watched(binary: string | undefined, settings: readonly string[] = []) {
  const primary = await startRedis({ binary, args: settings });
  onTestFinished(() => primary.close());
  const replica = await startRedis({
    binary,
    args: [...settings, "--replicaof", "127.0.0.1", `${primary.port}`],
  });
  onTestFinished(() => replica.close());
  const sentinels = await startSentinels("lintel-main", primary, { count: 3, binary });
  onTestFinished(() => sentinels.close());
  await vi.waitFor(() => {
    expect(sentinels.ask("replicas", "lintel-main")).toContain(`${replica.port}`);
    expect(sentinels.ask("master", "lintel-main")).toMatch(/num-other-sentinels\n2/);
    expect(sentinels.ask("replicas", "lintel-main")).toMatch(/master-link-status\nok/);
  }, slowly);
  return { primary, replica, sentinels };
}

/** The stores of a gateway, and what it says of them. */
async function opened(
  url: string,
  sentinels: readonly string[],
  onFailure: "open" | "closed" = "closed",
) {
  const said: string[] = [];
  const log = {
    warn: ({ reason }: { reason: string }) => said.push(reason),
    info: (_: unknown, text: string) => said.push(text),
  } as unknown as Logger;
  // Longer than a busy machine holds an answer up: each that is late could be an outage.
  const redis = { url, sentinels, onFailure, replicas: 1, timeoutMs: 2000 } as const;
  const settings = {
    limits: { models: [], caller: { imagesPerDay: 100 } },
    callersOwn: false,
    idempotency: { ttlMs: 60_000, maxAnswerBytes: 1000, maxBytes: 1000 },
    redis,
  };
  const counting = await openCounting(settings, log);
  onTestFinished(() => counting.close());
  return { counting, said };
}

const there = ({ limits, answers }: Counting) =>
  vi.waitFor(() => {
    expect([limits.state.available, answers?.away]).toEqual([true, false]);
  }, slowly);

/** Takes some images; answers how many are left. */
async function take({ limits }: Counting, amount: number) {
  const verdict = await limits.reserve([images(amount)]);
  if (!verdict.granted) throw new Error("refused");
  limits.settle(verdict.reservation, [amount]);
  return verdict.standings[0]?.remaining;
}

/** What a server says of itself. */
const asked = (server: { readonly port: number }, ...words: string[]) =>
  execFileSync("redis-cli", ["-p", `${server.port}`, ...words], { encoding: "utf8" });

/** Waits until a replica has all that was written: those who write don't wait for it. */
async function copied(primary: RedisServer, replica: RedisServer): Promise<void> {
  const offset = (server: RedisServer, name: string) =>
    new RegExp(`${name}:(\\d+)`).exec(asked(server, "info", "replication"))?.[1];
  await vi.waitFor(
    () => expect(offset(replica, "slave_repl_offset")).toBe(offset(primary, "master_repl_offset")),
    slowly,
  );
}

const { signal } = new AbortController();
const question = { name: "n", caller: "c", print: "p", signal };

describe.skipIf(!redisBinary).each(redisServers)("a %s that Sentinel watches", (_, binary) => {
  it("is the replica once that takes the place of a primary that was killed", async () => {
    const { primary, replica, sentinels } = await watched(binary);
    const { counting } = await opened("redis://lintel-main", sentinels.urls);
    await there(counting);
    expect(await take(counting, 40)).toBe(60);
    const first = await counting.idempotency?.open(question);
    if (first?.as !== "first") throw new Error("not the first");
    first.recorder.finish();
    await vi.waitFor(async () => {
      const again = await counting.idempotency?.open({ ...question, print: "q" });
      expect(again?.as).toBe("other");
    }, slowly);
    await copied(primary, replica);
    await primary.kill();
    await vi.waitFor(() => expect(counting.limits.state.available).toBe(false), slowly);
    await vi.waitFor(() => expect(sentinels.primary()).toBe(replica.port), slowly);
    await there(counting);
    expect(await take(counting, 10)).toBe(50);
    expect((await counting.idempotency?.open(question))?.as).toBe("again");
  }, 120_000);

  it("is left at once by who hears that it is to step down, and not only when it does", async () => {
    const { primary, replica, sentinels } = await watched(binary);
    const { counting, said } = await opened("redis://lintel-main", sentinels.urls);
    await there(counting);
    expect(await take(counting, 40)).toBe(60);
    await copied(primary, replica);
    await vi.waitFor(() => sentinels.ask("failover", "lintel-main"), slowly);
    await vi.waitFor(() => expect(said.length).toBeGreaterThan(0), slowly);
    // Sentinel leaves it so for at least 8 seconds: what is counted there is lost.
    expect(asked(primary, "role")).toMatch(/^master/);
    // Whoever asks one that has not heard of it yet is sent to the old one.
    await vi.waitFor(() => expect(new Set(sentinels.primaries())).toEqual(new Set([replica.port])));
    // It may have come back to the old one before that. What counts runs scripts, and nothing else does.
    const counts = (server: RedisServer) => asked(server, "client", "list").includes("cmd=eval");
    await vi.waitFor(async () => {
      // Else the last that a server heard may be a ping, as of who was silent for a while.
      await take(counting, 0).catch(() => {});
      expect([primary, replica].map(counts)).toEqual([false, true]);
    }, slowly);
    await there(counting);
    expect(await take(counting, 10)).toBe(50);
    const other = await opened("redis://lintel-main", sentinels.urls);
    expect(await take(other.counting, 10)).toBe(40);
  }, 120_000);

  it("is left where it hangs, and when it goes on again, too", async () => {
    const { primary, replica, sentinels } = await watched(binary);
    const { counting, said } = await opened("redis://lintel-main", sentinels.urls, "open");
    await there(counting);
    expect(await take(counting, 40)).toBe(60);
    await copied(primary, replica);
    primary.pause();
    // Nobody waits meanwhile, and each call is counted here.
    await vi.waitFor(async () => {
      await take(counting, 0);
      expect(counting.limits.state.available).toBe(false);
    }, slowly);
    expect(await take(counting, 10)).toBe(90);
    await vi.waitFor(() => expect(sentinels.primary()).toBe(replica.port), slowly);
    await there(counting);
    // What was used meanwhile is told.
    await vi.waitFor(async () => expect(await take(counting, 0)).toBe(50), slowly);
    primary.resume();
    await vi.waitFor(() => expect(asked(primary, "role")).toMatch(/^slave/), slowly);
    expect(await take(counting, 10)).toBe(40);
    expect(counting.limits.state).toMatchObject({ available: true, outages: 1 });
    expect(said.filter((words) => words === "the store is back").length).toBeGreaterThan(0);
  }, 120_000);

  it("is left where it keeps its gateways and loses its replicas, by min-replicas-to-write", async () => {
    const alone = ["--min-replicas-to-write", "1", "--min-replicas-max-lag", "2"];
    const { primary, replica, sentinels } = await watched(binary, alone);
    const { counting, said } = await opened("redis://lintel-main", sentinels.urls);
    await there(counting);
    expect(await take(counting, 40)).toBe(60);
    replica.pause();
    // Where calls are refused, none is counted that would be lost.
    await vi.waitFor(async () => {
      await take(counting, 0).catch(() => {});
      expect(said.join()).toContain("NOREPLICAS");
    }, slowly);
    expect(counting.limits.state.available).toBe(false);
    await expect(take(counting, 10)).rejects.toMatchObject({ code: "unavailable" });
    expect(sentinels.primary()).toBe(primary.port);
    replica.resume();
    await there(counting);
    expect(await take(counting, 10)).toBe(50);
  }, 120_000);

  it("has a password, and so have the sentinels; some of these may be away", async () => {
    const primary = await startRedis({ binary, args: ["--requirepass", "right word"] });
    onTestFinished(() => primary.close());
    const secret = { more: ["requirepass watch"], password: "watch", binary };
    const sentinels = await startSentinels("lintel-main", primary, secret);
    onTestFinished(() => sentinels.close());
    const [sentinel = ""] = sentinels.urls.map((url) => url.replace("//", "//:watch@"));
    const gone = "redis://:watch@127.0.0.1:1";
    const { counting } = await opened("redis://:right%20word@lintel-main/2", [gone, sentinel]);
    await there(counting);
    expect(await take(counting, 40)).toBe(60);
  });

  it("is away where no sentinel says where it is, and the log has what each one said", async () => {
    const primary = await startRedis({ binary });
    onTestFinished(() => primary.close());
    const sentinels = await startSentinels("lintel-main", primary, { binary });
    onTestFinished(() => sentinels.close());
    const [sentinel = ""] = sentinels.urls;
    const { counting, said } = await opened("redis://other", ["redis://127.0.0.1:1", sentinel]);
    expect(counting.limits.state.available).toBe(false);
    expect(said[0]).toContain("no sentinel says where the primary is");
    expect(said[0]).toContain("127.0.0.1:1: connect ECONNREFUSED");
    expect(said[0]).toMatch(
      new RegExp(`${new URL(sentinel).port}: .*(knows no other|No such master)`),
    );
  });
});
