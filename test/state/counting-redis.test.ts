/** Stores in Redis, as a gateway opens them. */
import { execFileSync } from "node:child_process";
import { readFileSync } from "node:fs";
import { Socket } from "node:net";
import { fileURLToPath } from "node:url";
import { describe, expect, it, onTestFinished, vi } from "vitest";
import type { Claim } from "../../src/core/limits/store.js";
import { type Logger, silent } from "../../src/core/log.js";
import { openCounting } from "../../src/state/counting.js";
import { redisIdempotency } from "../../src/state/idempotency/redis.js";
import { RedisLimits } from "../../src/state/limits/redis.js";
import { RedisConnection } from "../../src/state/redis/connection.js";
import { type RedisServer, redisBinary, startRedis } from "../support/redis.js";
import { slowLink } from "../support/slow-link.js";
import { images, settings, signal } from "./counted.js";

describe.skipIf(!redisBinary)("in Redis", () => {
  const redis = { onFailure: "closed", replicas: 1 } as const;

  it("comes with the first call where it can be reached", async () => {
    const server = await startRedis({ args: ["--requirepass", "secret word"] });
    onTestFinished(() => server.close());
    const url = server.url.replace("//", "//:secret%20word@");
    const counting = await openCounting({ ...settings, redis: { ...redis, url } }, silent);
    expect((await counting.limits.reserve([images(10)])).granted).toBe(true);
    expect((await counting.limits.reserve([images(1)])).granted).toBe(false);
    expect(
      await counting.idempotency?.open({ name: "n", caller: "c", print: "p", signal }),
    ).toMatchObject({
      as: "first",
    });
    expect(counting.limits.state).toMatchObject({ kind: "redis", available: true, outages: 0 });
    await counting.close();
  });

  it("holds up no limit by a large answer, and waits for that as long as it may take", async () => {
    const server = await startRedis();
    onTestFinished(() => server.close());
    const link = await slowLink(server.port, 100_000);
    onTestFinished(() => link.close());
    const size = 4 * 1024 * 1024;
    const counting = await openCounting(
      {
        ...settings,
        idempotency: { ttlMs: 60_000, maxAnswerBytes: size, maxBytes: size },
        redis: { ...redis, url: `redis://127.0.0.1:${link.port}` },
      },
      silent,
    );
    onTestFinished(() => counting.close());
    const question = { name: "n", caller: "c", print: "p", signal };
    const first = await counting.idempotency?.open(question);
    if (first?.as !== "first") throw new Error("not the first");
    vi.useFakeTimers({ toFake: ["setTimeout", "clearTimeout"] });
    onTestFinished(() => void vi.useRealTimers());
    first.recorder.append(Buffer.alloc(size, "a"));
    first.recorder.finish();
    await link.held;
    expect((await counting.limits.reserve([images(1)])).granted).toBe(true);
    // Within what a limit waits for, 250 ms, and 1 s for 4 MiB.
    await vi.advanceTimersByTimeAsync(1000);
    expect((await counting.limits.reserve([images(1)])).granted).toBe(true);
    expect(counting.limits.state).toMatchObject({ available: true, outages: 0 });
    expect(counting.answers).toMatchObject({ away: false, outages: 0 });
    link.letGo();
    const again = await counting.idempotency?.open(question);
    if (again?.as !== "again") throw new Error("not again");
    let bytes = 0;
    for await (const part of again.parts) bytes += part.length;
    expect(bytes).toBe(size);
  });

  it("keeps its connections from being forgotten on the way while nothing is asked", async () => {
    const server = await startRedis();
    onTestFinished(() => server.close());
    const asked = vi.spyOn(Socket.prototype, "setKeepAlive");
    onTestFinished(() => asked.mockRestore());
    const counting = await openCounting(
      { ...settings, redis: { ...redis, url: server.url } },
      silent,
    );
    expect(asked.mock.calls.filter(([on, ms]) => on && ms === 30_000)).toHaveLength(2);
    await counting.close();
  });

  it.each([
    ["one server", "ping"],
    ["a cluster", "exists"],
  ])("is asked for a sign of life while nothing else is, and else not: %s", async (kind, sign) => {
    vi.useFakeTimers({ toFake: ["setInterval", "clearInterval"] });
    onTestFinished(() => void vi.useRealTimers());
    const cluster = kind === "a cluster";
    const server = await startRedis({ cluster });
    onTestFinished(() => server.close());
    const cli = (...args: string[]) =>
      execFileSync("redis-cli", ["-p", `${server.port}`, ...args], { encoding: "utf8" });
    if (cluster) cli("cluster", "addslotsrange", "0", "16383");
    const url = cluster ? [server.url] : server.url;
    const connection = new RedisConnection({ url }, silent, "answers");
    onTestFinished(() => connection.close());
    await vi.waitFor(() => expect(connection.available).toBe(true), 20_000);
    const signs = async () => {
      // Answers come in the order of the questions.
      await connection.client.get("anything");
      return Number(
        new RegExp(`cmdstat_${sign}:calls=(\\d+)`).exec(cli("info", "commandstats"))?.[1] ?? 0,
      );
    };
    // What was asked as it connected.
    vi.advanceTimersByTime(10_000);
    expect(await signs()).toBe(0);
    vi.advanceTimersByTime(10_000);
    expect(await signs()).toBe(1);
    await connection.ask((client) => client.get("anything"));
    vi.advanceTimersByTime(10_000);
    expect(await signs()).toBe(1);
  });

  it("keeps its password out of logs", async () => {
    const server = await startRedis({ args: ["--requirepass", "right"] });
    onTestFinished(() => server.close());
    const said: unknown[] = [];
    const log = { ...silent, warn: (...all: unknown[]) => said.push(all) } as Logger;
    const url = server.url.replace("//", "//:wrong-password@");
    const counting = await openCounting({ ...settings, redis: { ...redis, url } }, log);
    // Of limits, and of answers.
    expect(said).toHaveLength(2);
    expect(JSON.stringify(said)).not.toContain("wrong-password");
    await expect(async () => counting.limits.reserve([images(1)])).rejects.toMatchObject({
      code: "unavailable",
    });
    await counting.close();
  });

  it("may be a cluster: what a call touches is in one slot", async () => {
    const server = await startRedis({ cluster: true });
    onTestFinished(() => server.close());
    const cli = (...args: string[]) =>
      execFileSync("redis-cli", ["-p", `${server.port}`, ...args], { encoding: "utf8" });
    cli("cluster", "addslotsrange", "0", "16383");
    await vi.waitFor(() => expect(cli("cluster", "info")).toContain("cluster_state:ok"), 20_000);
    const counting = await openCounting(
      { ...settings, redis: { ...redis, url: [server.url] } },
      silent,
    );
    await vi.waitFor(() => expect(counting.limits.state.available).toBe(true));
    const slot: Claim = {
      counter: { key: "global:concurrent", span: { type: "running" }, limit: 1, estimated: false },
      amount: 1,
    };
    const verdict = await counting.limits.reserve([images(9), slot]);
    if (!verdict.granted) throw new Error("refused");
    counting.limits.settle(verdict.reservation, [2, 1]);
    await vi.waitFor(async () => {
      const { standings } = await counting.limits.reserve([images(8), slot]);
      expect(standings.map(({ remaining }) => remaining)).toEqual([0, 0]);
    });
    const first = await counting.idempotency?.open({ name: "n", caller: "c", print: "p", signal });
    if (first?.as !== "first") throw new Error("not the first");
    first.recorder.append(Buffer.from("part"));
    first.recorder.finish();
    const again = await counting.idempotency?.open({ name: "n", caller: "c", print: "p", signal });
    if (again?.as !== "again") throw new Error("not again");
    const parts: string[] = [];
    for await (const part of again.parts) parts.push(Buffer.from(part).toString());
    expect(parts).toEqual(["part"]);
    await counting.close();
  });

  it("says of a cluster that can't be reached what is in the way", async () => {
    const file = (name: string) =>
      fileURLToPath(new URL(`../fixtures/tls/${name}.pem`, import.meta.url));
    const server = await startRedis({
      cluster: true,
      tls: { cert: file("cert"), key: file("key") },
      args: ["--tls-cluster", "yes", "--tls-ca-cert-file", file("cert")],
    });
    onTestFinished(() => server.close());
    const reasons: string[] = [];
    const warn = ({ reason }: { reason: string }) => reasons.push(reason);
    const log = { ...silent, warn } as unknown as Logger;
    for (const url of [server.url, "redis://127.0.0.1:1"]) {
      const connection = new RedisConnection({ url: [url] }, log);
      onTestFinished(() => connection.close());
      await connection.settled(20_000);
    }
    expect(reasons).toEqual([
      expect.stringContaining("self-signed certificate"),
      expect.stringContaining("ECONNREFUSED"),
    ]);
  });

  it("may be a cluster of which some names stand for nothing at the start", async () => {
    const server = await startRedis({ cluster: true });
    onTestFinished(() => server.close());
    execFileSync("redis-cli", ["-p", `${server.port}`, "cluster", "addslotsrange", "0", "16383"]);
    const url = ["redis://gone.invalid:6379", server.url, "redis://left.invalid:6379"];
    const connection = new RedisConnection({ url }, silent);
    onTestFinished(() => connection.close());
    await vi.waitFor(() => expect(connection.available).toBe(true), 20_000);
  });

  it("may be a cluster of which a node goes away: what is there is away until it is back", async () => {
    const partly = ["--cluster-require-full-coverage", "no"];
    const nodes = [
      await startRedis({ cluster: true, args: partly }),
      await startRedis({ cluster: true, args: partly }),
    ] as const;
    onTestFinished(async () => {
      await Promise.all(nodes.map((node) => node.close()));
    });
    const [node, other] = nodes;
    const cli = ({ port }: RedisServer, ...args: string[]) =>
      execFileSync("redis-cli", ["-p", `${port}`, ...args], { encoding: "utf8" }).trim();
    // With the limits, and the answer of `b`.
    cli(node, "cluster", "addslotsrange", "0", "8191");
    cli(other, "cluster", "addslotsrange", "8192", "16383");
    const bus = cli(other, "config", "get", "cluster-port").split("\n")[1] ?? "";
    cli(node, "cluster", "meet", "127.0.0.1", `${other.port}`, bus);
    for (const one of nodes) {
      const known = () => cli(one, "cluster", "info");
      await vi.waitFor(() => expect(known()).toContain("cluster_slots_ok:16384"), 20_000);
    }
    const connect = async (keeps: "limits" | "answers") => {
      const redis = { url: [other.url], timeoutMs: 100 };
      const connection = new RedisConnection(redis, silent, keeps);
      onTestFinished(() => connection.close());
      await vi.waitFor(() => expect(connection.available).toBe(true), 20_000);
      const probes = vi.spyOn(connection.client, "eval");
      return { connection, probes, outages: connection.outages };
    };
    const connections = [await connect("limits"), await connect("answers")] as const;
    const limits = new RedisLimits(connections[0].connection);
    const idempotency = { ttlMs: 1000, maxAnswerBytes: 1000, maxBytes: 1000 };
    const answers = redisIdempotency(connections[1].connection, idempotency);
    node.pause();
    await vi.waitFor(async () => {
      await limits.reserve([images(1)]);
      await answers.open({ name: "b", caller: "c", print: `${Math.random()}`, signal });
      expect(connections.map(({ connection }) => connection.away)).toEqual([true, true]);
    }, 20_000);
    for (const { connection, probes, outages } of connections) {
      await vi.waitFor(() => expect(probes.mock.calls.length).toBeGreaterThan(1), 20_000);
      expect([connection.away, connection.outages]).toEqual([true, outages + 1]);
    }
    node.resume();
    for (const { connection } of connections) {
      await vi.waitFor(() => expect(connection.available).toBe(true), 20_000);
    }
    await Promise.all([limits.close(), answers.close()]);
  });

  it("may be reached over TLS", async () => {
    const file = (name: string) =>
      fileURLToPath(new URL(`../fixtures/tls/${name}.pem`, import.meta.url));
    const [cert, key] = [file("cert"), file("key")];
    const server = await startRedis({ tls: { cert, key } });
    onTestFinished(() => server.close());
    const ca = readFileSync(cert, "utf8");
    const reasons: unknown[] = [];
    const warn = (fields: object) => void reasons.push((fields as { reason?: string }).reason);
    const open = (tls?: { ca: string }) =>
      openCounting(
        { ...settings, redis: { ...redis, url: server.url, ...(tls && { tls }) } },
        { ...silent, warn },
      );
    const trusting = await open({ ca });
    expect((await trusting.limits.reserve([images(10)])).granted).toBe(true);
    await trusting.close();
    const wary = await open();
    expect(wary.limits.state.available).toBe(false);
    await wary.close();
    const told =
      /^self-signed certificate\b.*; state\.redis\.tls\.ca trusts the authority in a file$/;
    expect(reasons).toEqual([expect.stringMatching(told), expect.stringMatching(told)]);
  });

  it.each([
    ["addresses", "cert", "key", []],
    ["names", "named-cert", "named-key", ["--cluster-announce-hostname", "localhost"]],
  ])("may be a cluster over TLS, with certificates for its %s", async (_, cert, key, announced) => {
    const file = (name: string) =>
      fileURLToPath(new URL(`../fixtures/tls/${name}.pem`, import.meta.url));
    const named = announced.length > 0;
    const preferred = ["--cluster-preferred-endpoint-type", named ? "hostname" : "ip"];
    const secured = ["--tls-cluster", "yes", "--tls-ca-cert-file", file(cert)];
    const server = await startRedis({
      cluster: true,
      tls: { cert: file(cert), key: file(key) },
      args: [...secured, ...preferred, ...announced],
    });
    onTestFinished(() => server.close());
    const trusted = ["-p", `${server.port}`, "--tls", "--cacert", file(cert), "--insecure"];
    const cli = (...args: string[]) =>
      execFileSync("redis-cli", [...trusted, ...args], { encoding: "utf8" });
    cli("cluster", "addslotsrange", "0", "16383");
    await vi.waitFor(() => expect(cli("cluster", "info")).toContain("cluster_state:ok"), 20_000);
    const tls = { ca: readFileSync(file(cert), "utf8") };
    const url = named ? server.url.replace("127.0.0.1", "localhost") : server.url;
    const counting = await openCounting(
      { ...settings, redis: { ...redis, url: [url], tls } },
      silent,
    );
    await vi.waitFor(() => expect(counting.limits.state.available).toBe(true));
    expect((await counting.limits.reserve([images(10)])).granted).toBe(true);
    await counting.close();
  });
});
