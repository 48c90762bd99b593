/** Gateways that share a Redis, one of which is killed while it tells of a budget. */
import { Redis } from "ioredis";
import { beforeAll, describe, expect, it, onTestFinished } from "vitest";
import { createToken, hashToken } from "../../src/core/tokens.js";
import { echo } from "../backends/openai-subject.js";
import { Upstream } from "../backends/upstream.js";
import { receiver, spend } from "../support/alerts.js";
import { redisBinary, startRedis } from "../support/redis.js";
import { build, folder, start } from "./lintel.js";

beforeAll(build);

describe.skipIf(!redisBinary)("gateways that share a Redis", () => {
  async function bench() {
    const [upstream, redis] = [await Upstream.start(echo), await startRedis()];
    onTestFinished(async () => {
      await upstream.close();
      await redis.close();
    });
    const token = createToken();
    /** A gateway that tells this address. */
    const gateway = async (url: string) => {
      const cwd = folder({
        "lintel.yaml": `
listen: 127.0.0.1:0
auth: { mode: token, tokens: [{ name: ann, hash: "${hashToken(token)}" }] }
prices: [{ model: m, output: 1000000 }]
limits: { global: { budget: { amount: 5, period: lifetime } } }
state: { redis: { url: "${redis.url}", timeout: 30s } }
budget_alerts: { url: "${url}", at: [0.1], timeout: 20s }
backends: [{ type: openai, name: a, url: "${upstream.url}", models: [m] }]
`,
      });
      const lintel = start([], cwd);
      const end = async (signal: NodeJS.Signals) => {
        lintel.kill(signal);
        await lintel.ended;
      };
      onTestFinished(() => end("SIGKILL"));
      const [, address = ""] = await lintel.until(/ on (http:\S+:\d+)\n/);
      const chat = () => spend(address, token, { content: "a", maxTokens: 1 });
      return { chat, end };
    };
    const asking = new Redis(redis.url);
    onTestFinished(() => asking.disconnect());
    const held = async () => {
      const [key = ""] = await asking.keys("*:first:*");
      return { key, left: await asking.pttl(key) };
    };
    return { gateway, asking, held };
  }

  it("are told of once, though the first to tell fails at first", async () => {
    const { gateway, held } = await bench();
    const { url, seen } = await receiver(503, 200);
    const [one, other] = [await gateway(url), await gateway(url)];
    await Promise.all([one.chat(), other.chat()]);
    await expect.poll(() => seen.length).toBe(2);
    await expect.poll(async () => (await held()).left).toBeGreaterThan(86_400_000);
    await Promise.all([one.end("SIGTERM"), other.end("SIGTERM")]);
    expect(seen).toHaveLength(2);
  });

  it("tell of it anew where the one that does is killed, once they may", async () => {
    const { gateway, asking, held } = await bench();
    const [hangs, takes] = [await receiver(0), await receiver(200)];
    const killed = await gateway(hangs.url);
    await killed.chat();
    await expect.poll(() => hangs.seen.length).toBe(1);
    await killed.end("SIGKILL");
    const { key, left } = await held();
    expect(left).toBeGreaterThan(60_000);
    expect(left).toBeLessThanOrEqual(4 * 180_000 + 5 * 20_000 + 30_000);
    // As if that time had passed.
    await asking.pexpire(key, 1);
    await expect.poll(async () => (await held()).key).toBe("");
    const next = await gateway(takes.url);
    await next.chat();
    await expect.poll(() => takes.seen.length).toBe(1);
    await expect.poll(async () => (await held()).left).toBeGreaterThan(86_400_000);
  });
});
