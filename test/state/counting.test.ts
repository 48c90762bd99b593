/** The stores as a gateway opens them. */
import { execFileSync } from "node:child_process";
import { readFileSync } from "node:fs";
import { Socket } from "node:net";
import { fileURLToPath } from "node:url";
import { describe, expect, it, onTestFinished, vi } from "vitest";
import { scopes } from "../../src/core/limits/rules.js";
import type { Claim } from "../../src/core/limits/store.js";
import { type Logger, silent } from "../../src/core/log.js";
import type { UsageHistory } from "../../src/core/usage/history.js";
import { type Counting, type CountingSettings, openCounting } from "../../src/state/counting.js";
import { redisIdempotency } from "../../src/state/idempotency/redis.js";
import { RedisLimits } from "../../src/state/limits/redis.js";
import { RedisConnection } from "../../src/state/redis/connection.js";
import { type RedisServer, redisBinary, startRedis } from "../support/redis.js";
import { slowLink } from "../support/slow-link.js";
import { ofDay } from "./claims.js";

const settings: CountingSettings = {
  limits: { models: [], caller: { imagesPerDay: 10 } },
  callersOwn: false,
  idempotency: { ttlMs: 1000, maxAnswerBytes: 1000, maxBytes: 1000 },
};

const images = (amount: number): Claim => ({
  counter: ofDay("caller:alice:images", 10),
  amount,
});

const { signal } = new AbortController();

describe("in memory", () => {
  const row = { caller: "alice", model: "m", calls: 2, promptTokens: 0, completionTokens: 0 };
  /** What users used is not asked for where nothing limits them, but for those whom tokens may limit. */
  const ofUsers: UsageHistory["ofUsers"] = async (_quantity, _from, _until, of) => {
    if (!of) throw new Error("no end user has a limit");
    return [];
  };
  const history: UsageHistory = { ofUsers, between: async () => [{ ...row, images: 7, spend: 0 }] };

  it("goes on with what was used before", async () => {
    const counting = await openCounting(settings, silent, history);
    const left = async () => (await counting.limits.peek([images(1).counter]))[0]?.remaining;
    expect(await left()).toBe(3);
    expect((await counting.limits.reserve([images(4)])).granted).toBe(false);
    expect((await counting.limits.reserve([images(3)])).granted).toBe(true);
    expect(await left()).toBe(0);
    await counting.close();
  });

  it("goes on with what a team's members used, by the limits of every team and its own", async () => {
    const rows = [
      { ...row, team: "red", images: 3, spend: 0 },
      { ...row, caller: "bob", team: "red", images: 2, spend: 0 },
      { ...row, caller: "cat", team: "blue", images: 1, spend: 0 },
      { ...row, caller: "dan", team: "", images: 9, spend: 0 },
    ];
    const of = (key: string, amount: number): Claim => ({ counter: ofDay(key, 10), amount });
    for (const limits of [
      { models: [], team: { imagesPerDay: 10 } },
      { models: [], teams: [{ team: "red", imagesPerDay: 10 }] },
      { models: [], team: { imagesPerDay: 10 }, teams: [{ team: "red", imagesPerDay: 9 }] },
    ]) {
      const between = async () => rows;
      const counting = await openCounting({ ...settings, limits }, silent, { between, ofUsers });
      const granted = async (claim: Claim) => (await counting.limits.reserve([claim])).granted;
      expect(await granted(of("team:red:images", 6))).toBe(false);
      expect(await granted(of("team:red:images", 5))).toBe(true);
      expect(await granted(of("team:blue:images", 10))).toBe(limits.team === undefined);
      // Of no team is no team's.
      expect(await granted(of("team::images", 10))).toBe(true);
      await counting.close();
    }
  });

  it("goes on with what end users used, and where a reload limits them", async () => {
    const key = `${scopes.user("alice", "u-1")}:images`;
    const left = async ({ limits }: Counting) =>
      (await limits.reserve([{ counter: ofDay(key, 10), amount: 0 }])).standings[0]?.remaining;
    const users: UsageHistory = {
      between: async () => [],
      ofUsers: async () => [{ caller: "alice", user: "u-1", used: 4 }],
    };
    const limited = { limits: { models: [], user: { imagesPerDay: 10 } }, callersOwn: false };
    const counting = await openCounting({ ...settings, ...limited }, silent, users);
    expect(await left(counting)).toBe(6);
    await counting.close();
    const later = await openCounting(settings, silent, users);
    expect(await left(later)).toBe(10);
    await later.change(limited).added;
    expect(await left(later)).toBe(6);
    await later.close();
  });

  it("looks after calls while it goes on with what very many end users used", async () => {
    const rows = Array.from({ length: 3500 }, (_, i) => ({ caller: "a", user: `${i}`, used: 4 }));
    const users: UsageHistory = { between: async () => [], ofUsers: async () => rows };
    const limited = { limits: { models: [], user: { imagesPerDay: 5 } }, callersOwn: false };
    let turns = 0;
    let next: NodeJS.Immediate | undefined;
    const turn = () => {
      turns++;
      next = setImmediate(turn);
    };
    turn();
    const counting = await openCounting({ ...settings, ...limited }, silent, users);
    clearImmediate(next);
    // To read them, and to count them.
    expect(turns).toBeGreaterThanOrEqual(6);
    for (const { caller, user } of rows) {
      const counter = ofDay(`${scopes.user(caller, user)}:images`, 5);
      const { granted, standings } = await counting.limits.reserve([{ counter, amount: 1 }]);
      expect([granted, standings[0]?.remaining]).toEqual([true, 0]);
    }
    await counting.close();
  });

  it("goes on with it also where that is read late, and counts what came meanwhile", async () => {
    vi.useFakeTimers({ toFake: ["setTimeout", "clearTimeout"] });
    onTestFinished(() => void vi.useRealTimers());
    const said: string[] = [];
    const say = (_: unknown, text?: string) => said.push(text ?? "");
    const log = { ...silent, warn: say, info: say } as Logger;
    let answer = () => {};
    const slow: UsageHistory = {
      ofUsers,
      between: async (from, until) => {
        await new Promise<void>((resolve) => {
          answer = resolve;
        });
        return history.between(from, until);
      },
    };
    const opening = openCounting(settings, log, slow);
    await vi.advanceTimersByTimeAsync(2000);
    const counting = await opening;
    const left = async () => (await counting.limits.peek([images(1).counter]))[0]?.remaining;
    expect((await counting.limits.reserve([images(2)])).granted).toBe(true);
    expect(await left()).toBeUndefined();
    answer();
    await vi.advanceTimersByTimeAsync(0);
    expect(await left()).toBe(1);
    expect((await counting.limits.reserve([images(2)])).granted).toBe(false);
    expect((await counting.limits.reserve([images(1)])).granted).toBe(true);
    expect(said).toEqual([
      "what was used before takes long to read: budgets and images per day begin at 0 until it is there",
      "what was used before counts in budgets and images per day now",
    ]);
    await counting.close();
  });

  it("is asked again where that can't be read, says so once, and counts then", async () => {
    vi.useFakeTimers({ toFake: ["setTimeout", "clearTimeout"] });
    onTestFinished(() => {
      vi.useRealTimers();
    });
    const said: string[] = [];
    const say = (_: unknown, text?: string) => said.push(text ?? "");
    const log = { ...silent, warn: say, info: say } as Logger;
    let failures = 2;
    const until: number[] = [];
    const history = {
      ofUsers,
      between: async (_: number, now: number) => {
        until.push(now);
        if (failures-- > 0) throw new Error("the database is away");
        return [{ ...row, images: 8, spend: 0 }];
      },
    };
    const counting = await openCounting(settings, log, history);
    expect((await counting.limits.reserve([images(2)])).granted).toBe(true);
    const left = async () => (await counting.limits.peek([images(1).counter]))[0]?.remaining;
    await vi.advanceTimersByTimeAsync(10_000);
    expect((await counting.limits.reserve([images(1)])).granted).toBe(true);
    expect(await left()).toBeUndefined();
    await vi.advanceTimersByTimeAsync(10_000);
    expect(await left()).toBe(0);
    expect((await counting.limits.reserve([images(1)])).granted).toBe(false);
    // What was used since counts already.
    expect(new Set(until).size).toBe(1);
    expect(said).toEqual([
      "what was used before can't be read: budgets and images per day begin at 0 until it can",
      "what was used before counts in budgets and images per day now",
    ]);
    await counting.close();
  });

  describe("with other limits", () => {
    const used = (caller: string, images: number) => ({ ...row, caller, images, spend: 0 });
    const of = (caller: string, amount: number): Claim => {
      const claim = images(amount);
      return { ...claim, counter: { ...claim.counter, key: `caller:${caller}:images` } };
    };
    const left = async ({ limits }: Counting, caller: string) =>
      (await limits.reserve([of(caller, 0)])).standings[0]?.remaining;
    /** A call that begins, by an estimate; ends with what it is given. */
    const begin = async ({ limits }: Counting, caller: string, estimate: number) => {
      const verdict = await limits.reserve([of(caller, estimate)]);
      if (!verdict.granted) throw new Error("refused");
      return (took: number) => limits.settle(verdict.reservation, [took]);
    };
    const none = { limits: { models: [] }, callersOwn: false };
    const everyone = { limits: settings.limits, callersOwn: false };

    it("goes on with what was used under those before, each call once", async () => {
      let rows = [used("alice", 3)];
      const between = vi.fn(async () => rows);
      const tokens = { ...settings, limits: { models: [] }, callersOwn: true };
      const counting = await openCounting(tokens, silent, { between, ofUsers });
      // Alice has a limit of her own, and was counted by it; a call of hers still runs.
      (await begin(counting, "alice", 1))(2);
      const runs = await begin(counting, "alice", 1);
      rows = [used("alice", 5), used("bob", 4)];
      const changed = counting.change({ ...tokens, limits: settings.limits });
      await counting.limits.reserve([of("bob", 1)]);
      await changed.added;
      expect([await left(counting, "alice"), await left(counting, "bob")]).toEqual([4, 5]);
      // That is told, though calls of before still run.
      expect(await counting.limits.peek([of("bob", 1).counter])).toMatchObject([{ remaining: 5 }]);
      // What ran at the change has ended, with more than its estimate.
      runs(3);
      rows = [used("alice", 8), used("bob", 6)];
      changed.ended();
      await vi.waitFor(async () => expect(await left(counting, "bob")).toBe(3));
      expect(await left(counting, "alice")).toBe(2);
      between.mockClear();
      const same = counting.change({
        ...tokens,
        limits: { models: [], caller: { imagesPerDay: 2 } },
      });
      await same.added;
      same.ended();
      expect(between).not.toHaveBeenCalled();
      await counting.close();
    });

    it("goes on with it where a limit was gone for a time", async () => {
      let rows = [used("alice", 1)];
      const counting = await openCounting(settings, silent, { between: async () => rows, ofUsers });
      (await begin(counting, "alice", 1))(0);
      // What it claims is used by nobody yet.
      const runs = await begin(counting, "alice", 3);
      await counting.change(none).added;
      rows = [used("alice", 5)];
      const { added, ended } = counting.change(everyone);
      await added;
      expect(await left(counting, "alice")).toBe(2);
      runs(0);
      ended();
      expect(await left(counting, "alice")).toBe(5);
      await counting.close();
    });

    it("takes nothing off for calls that the database does not have", async () => {
      let rows: ReturnType<typeof used>[] = [];
      const tokens = { ...settings, limits: { models: [] }, callersOwn: true };
      const counting = await openCounting(tokens, silent, { between: async () => rows, ofUsers });
      (await begin(counting, "alice", 3))(3);
      rows = [used("alice", 1)];
      await counting.change({ ...tokens, limits: settings.limits }).added;
      expect(await left(counting, "alice")).toBe(7);
      await counting.close();
    });

    it("knows of none that began on the day before", async () => {
      vi.useFakeTimers({ toFake: ["Date"], now: Date.UTC(2026, 0, 1, 23, 59, 59) });
      onTestFinished(() => void vi.useRealTimers());
      let answer = (_: ReturnType<typeof used>[]) => {};
      const between = () =>
        new Promise<ReturnType<typeof used>[]>((resolve) => {
          answer = resolve;
        });
      const opening = openCounting({ ...settings, ...none }, silent, { between, ofUsers });
      const counting = await opening;
      const runs = await begin(counting, "alice", 3);
      vi.setSystemTime(Date.UTC(2026, 0, 2, 0, 0, 1));
      const { added } = counting.change(everyone);
      runs(3);
      answer([used("alice", 5)]);
      await added;
      expect(await left(counting, "alice")).toBe(5);
      await counting.close();
    });

    it("adds nothing twice where what was used before the start comes late", async () => {
      const answers: ((rows: ReturnType<typeof used>[]) => void)[] = [];
      const between = () =>
        new Promise<ReturnType<typeof used>[]>((resolve) => {
          answers.push(resolve);
        });
      vi.useFakeTimers({ toFake: ["setTimeout", "clearTimeout"] });
      onTestFinished(() => void vi.useRealTimers());
      const opening = openCounting(settings, silent, { between, ofUsers });
      await vi.advanceTimersByTimeAsync(2000);
      const counting = await opening;
      (await begin(counting, "alice", 2))(2);
      await counting.change(none).added;
      const { added } = counting.change(everyone);
      answers[1]?.([used("alice", 5)]);
      await added;
      expect(await left(counting, "alice")).toBe(5);
      answers[0]?.([used("alice", 3)]);
      await vi.advanceTimersByTimeAsync(0);
      expect(await left(counting, "alice")).toBe(5);
      await counting.close();
    });
  });

  it("is not asked again once it is closed", async () => {
    vi.useFakeTimers({ toFake: ["setTimeout", "clearTimeout"] });
    onTestFinished(() => {
      vi.useRealTimers();
    });
    const between = vi.fn(() => Promise.reject(new Error("the database is away")));
    const counting = await openCounting(settings, silent, { between, ofUsers });
    await counting.close();
    between.mockClear();
    await vi.advanceTimersByTimeAsync(60_000);
    expect(between).not.toHaveBeenCalled();
  });
});

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
