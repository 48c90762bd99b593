/** The store goes away and comes back, while calls are counted. */
import { Redis } from "ioredis";
import { afterEach, beforeEach, describe, expect, it, onTestFinished, vi } from "vitest";
import type { Claim, Counter, LimitStore, Verdict } from "../../../src/core/limits/store.js";
import type { Logger } from "../../../src/core/log.js";
import { type RedisLimitOptions, RedisLimits } from "../../../src/state/limits/redis.js";
import { reserveScript, settleScript } from "../../../src/state/limits/scripts.js";
import { RedisConnection } from "../../../src/state/redis/connection.js";
import { runScript, type Script } from "../../../src/state/redis/script.js";
import { type RedisServer, redisBinary, redisServers, startRedis } from "../../support/redis.js";

const counter = (key: string, span: Counter["span"], limit: number, estimated = true): Claim => ({
  counter: { key, span, limit, estimated },
  amount: 1,
});
const requests = (limit: number) =>
  counter("requests", { type: "sliding", ms: 60_000 }, limit, false);
const tokens = (amount: number, limit = 100): Claim => ({
  ...counter("tokens", { type: "sliding", ms: 60_000 }, limit),
  amount,
});
const images = (amount: number, limit = 10): Claim => ({
  ...counter("images", { type: "calendar", period: "month" }, limit),
  amount,
});
const slot = (limit: number) => counter("concurrent", { type: "running" }, limit, false);
/** Milliseconds to wait for an answer that comes, however busy the machine. */
const patient = 30_000;

function reservationOf(verdict: Verdict) {
  if (!verdict.granted) throw new Error("refused");
  return verdict.reservation;
}

describe.skipIf(!redisBinary).each(redisServers)(
  "a store of limits in %s that goes away",
  (_, binary) => {
    let server: RedisServer;
    const open: { store: LimitStore; connection: RedisConnection }[] = [];
    const said: string[] = [];
    const reasons: string[] = [];
    const log = {
      warn: ({ reason }: { reason: string }, message: string) => {
        said.push(`warn: ${message}`);
        reasons.push(reason);
      },
      info: (_: unknown, message: string) => said.push(`info: ${message}`),
    } as unknown as Logger;

    async function replica(
      options: RedisLimitOptions = {},
      timeoutMs = 100,
      url = server.url,
    ): Promise<LimitStore> {
      const connection = new RedisConnection({ url, timeoutMs }, log, "limits", options.onFailure);
      const store = new RedisLimits(connection, options);
      open.push({ store, connection });
      await connection.settled(1000);
      return store;
    }
    const back = (store: LimitStore) => vi.waitFor(() => expect(store.state.available).toBe(true));
    const gone = (store: LimitStore) => vi.waitFor(() => expect(store.state.available).toBe(false));

    beforeEach(async () => {
      said.length = 0;
      reasons.length = 0;
      server = await startRedis({ binary });
    });
    afterEach(async () => {
      server.resume();
      for (const { store, connection } of open.splice(0)) {
        await store.close();
        await connection.close();
      }
      await server.close();
    });

    it("is decided without, said once, and comes back by itself", async () => {
      const store = await replica();
      for (let i = 0; i < 3; i++) expect((await store.reserve([requests(3)])).granted).toBe(true);
      expect((await store.reserve([requests(3)])).granted).toBe(false);
      await server.kill();
      await gone(store);
      // Counted in this process from now on, by the same limit.
      const verdicts = await Promise.all(
        Array.from({ length: 10 }, () => store.reserve([requests(3)])),
      );
      expect(verdicts.filter(({ granted }) => granted)).toHaveLength(3);
      expect(store.state).toMatchObject({ kind: "redis", outages: 1, decidedWithout: 10 });
      await server.start();
      await back(store);
      expect((await store.reserve([requests(3)])).granted).toBe(true);
      expect(store.state.decidedWithout).toBe(10);
      expect(said).toEqual([
        "warn: the store is away: deciding without it until it is back",
        "info: the store is back",
      ]);
    });

    it.each(["open", "closed"] as const)(
      "says nothing of what is left, %s, until it is back",
      async (onFailure) => {
        const store = await replica({ onFailure });
        const counters = [requests(3).counter];
        await store.reserve([requests(3)]);
        const left = async () => (await store.peek(counters))[0]?.remaining;
        expect(await left()).toBe(2);
        server.pause();
        // One that does not answer in time, and one that is known to be away.
        expect([await left(), await left()]).toEqual([undefined, undefined]);
        server.resume();
        await back(store);
        expect(await left()).toBe(2);
        expect(store.state.decidedWithout).toBe(0);
      },
    );

    it("hears when it is back of what is held no longer, and of what is held from then on", async () => {
      const store = await replica();
      const other = await replica();
      expect(await store.hold("a", "one", 60_000)).toBe(true);
      expect(await store.hold("b", "one", 60_000)).toBe(true);
      server.pause();
      await store.reserve([requests(3)]);
      await gone(store);
      // Whoever asks meanwhile goes ahead.
      expect(store.hold("b", "two", 60_000)).toBe(true);
      store.release("a", "one");
      store.keep("b", "one", 600_000);
      store.keep("c", "one", 60_000);
      server.resume();
      await back(store);
      await back(other);
      await vi.waitFor(
        async () => expect(await other.hold("a", "two", 60_000)).toBe(true),
        patient,
      );
      expect(await store.hold("a", "one", 60_000)).toBe(false);
      const asking = new Redis(server.url);
      onTestFinished(() => asking.disconnect());
      const left = () => asking.pttl("lintel:{limits}:first:b");
      await vi.waitFor(async () => expect(await left()).toBeGreaterThan(60_000), patient);
      await vi.waitFor(
        async () => expect(await asking.get("lintel:{limits}:first:c")).toBe("one"),
        patient,
      );
    });

    it("is away where the server has not its database, and counts in no other one", async () => {
      const asking = new Redis(server.url);
      onTestFinished(() => asking.disconnect());
      const fifth = await replica({}, 100, `${server.url}/5`);
      await fifth.reserve([requests(3)]);
      const store = await replica({}, 100, `${server.url}/99`);
      const refused = async () =>
        Number(/cmdstat_select:.*failed_calls=(\d+)/.exec(await asking.info("commandstats"))?.[1]);
      await vi.waitFor(async () => expect(await refused()).toBeGreaterThan(4), patient);
      expect(store.state).toMatchObject({ available: false, outages: 1 });
      expect((await store.reserve([requests(1)])).granted).toBe(true);
      expect(await asking.info("keyspace")).not.toContain("db0:");
      expect(await asking.info("keyspace")).toContain("db5:");
      expect(reasons).toEqual(["ERR DB index is out of range"]);
      expect(said).toEqual(["warn: the store is away: deciding without it until it is back"]);
    });

    it("says why it stays away, where that shows only later", async () => {
      const store = await replica();
      const { client } = (open.at(-1) as (typeof open)[number]).connection;
      await client.call("CONFIG", "SET", "requirepass", "another");
      client.call("CLIENT", "KILL", "TYPE", "normal", "SKIPME", "no").catch(() => {});
      await vi.waitFor(() => expect(reasons.at(-1)).toMatch(/^NOAUTH/));
      // Without the password again.
      await server.kill();
      await server.start();
      await back(store);
      expect(reasons[0]).toMatch(/closed/);
      expect(said).toEqual([
        "warn: the store is away: deciding without it until it is back",
        "warn: the store is still away",
        "info: the store is back",
      ]);
      expect(store.state.outages).toBe(1);
    });

    it.each([
      ["away for a user who may run no scripts", ["-@scripting"], false],
      ["there for one who may not send them ahead", ["-script"], true],
    ])("is %s", async (_, rights, there) => {
      await replica();
      const { client } = (open.at(-1) as (typeof open)[number]).connection;
      const user = ["SETUSER", "u", "on", ">p", "~*", "&*", "+@all", ...rights];
      await client.call("ACL", ...user);
      const store = await replica({}, patient, server.url.replace("//", "//u:p@"));
      expect((await store.reserve([requests(1)])).granted).toBe(true);
      const outages = there ? 0 : 1;
      expect(store.state).toMatchObject({ available: there, outages, decidedWithout: outages });
      // Nor does it come back to go again.
      expect(reasons).toEqual(there ? [] : [expect.stringMatching(/^NOPERM.*'eval'/)]);
    });

    it("stays once it is back, though something was asked as it went away", async () => {
      const timeoutMs = 100;
      const store = await replica({}, timeoutMs);
      vi.useFakeTimers({ toFake: ["setTimeout", "clearTimeout"] });
      onTestFinished(() => void vi.useRealTimers());
      server.pause();
      const asked = store.reserve([requests(10)]);
      await server.kill();
      expect((await asked).granted).toBe(true);
      await server.start();
      await back(store);
      const client = open.at(-1)?.connection.client;
      // Answers come in the order of the questions: nothing is asked any more after this one.
      await client?.ping();
      // Longer than an answer over the connection before was waited for.
      await vi.advanceTimersByTimeAsync(20 * timeoutMs);
      expect(await client?.ping()).toBe("PONG");
      expect(said).toEqual([expect.stringMatching(/^warn: .*away/), "info: the store is back"]);
      expect(store.state).toMatchObject({ available: true, outages: 1 });
    });

    it("comes back where the client gave its connection up for good", async () => {
      const store = await replica();
      const { client } = (open.at(-1) as (typeof open)[number]).connection;
      client.disconnect();
      await gone(store);
      await back(store);
      expect((await store.reserve([requests(1)])).granted).toBe(true);
      expect(store.state).toMatchObject({ outages: 1 });
    });

    it("may be away at start", async () => {
      await server.kill();
      const store = await replica();
      expect((await store.reserve([requests(1)])).granted).toBe(true);
      expect((await store.reserve([requests(1)])).granted).toBe(false);
      await server.start();
      await back(store);
      expect((await store.reserve([requests(1)])).granted).toBe(true);
    });

    it("refuses calls meanwhile where the operator closed on it", async () => {
      const store = await replica({ onFailure: "closed" });
      await server.kill();
      await gone(store);
      await expect(async () => store.reserve([requests(3)])).rejects.toMatchObject({
        code: "unavailable",
        retryAfter: 1,
      });
      expect(said).toEqual([
        "warn: the store is away: calls that would have to be counted are refused until it is back",
      ]);
      await server.start();
      await back(store);
      expect((await store.reserve([requests(3)])).granted).toBe(true);
    });

    it("holds no call up that is deaf", async () => {
      const store = await replica();
      server.pause();
      // It answers while the server still does not; the next one does not even ask.
      expect((await store.reserve([requests(1)])).granted).toBe(true);
      expect(store.reserve([requests(1)])).not.toBeInstanceOf(Promise);
      server.resume();
      await back(store);
    });

    it("divides limits among replicas while they can't ask", async () => {
      const store = await replica({ replicas: 3 });
      await server.kill();
      await gone(store);
      const verdicts = await Promise.all(
        Array.from({ length: 20 }, () => store.reserve([requests(9)])),
      );
      expect(verdicts.filter(({ granted }) => granted)).toHaveLength(3);
    });

    it("hears of calls that ended meanwhile, once", async () => {
      const store = await replica();
      const other = await replica();
      const reservation = reservationOf(await store.reserve([tokens(80), images(8), slot(1)]));
      server.pause();
      await store.reserve([requests(1)]);
      store.settle(reservation, [30, 3, 1]);
      server.resume();
      await back(store);
      await back(other);
      await vi.waitFor(async () => {
        const verdict = await other.reserve([tokens(70), images(7), slot(1)]);
        expect(verdict.standings.map(({ remaining }) => remaining)).toEqual([0, 0, 0]);
        expect(verdict.granted).toBe(true);
      });
    });

    it("is told what calls took that it never heard of, where that counts for longer", async () => {
      const store = await replica();
      await server.kill();
      await gone(store);
      const first = reservationOf(await store.reserve([tokens(80), images(4)]));
      const second = reservationOf(await store.reserve([images(4)]));
      store.settle(first, [80, 3]);
      await server.start();
      await back(store);
      // One ended before it came back, the other after.
      store.settle(second, [2]);
      const other = await replica();
      await vi.waitFor(async () => {
        const verdict = await other.reserve([images(6)]);
        expect(verdict.standings[0]?.remaining).toBe(5);
      });
      expect((await other.reserve([images(5)])).granted).toBe(true);
    });

    it("is told what all took together, also where each call was for another of very many users", async () => {
      const users = 10_050;
      const store = await replica();
      const other = await replica();
      await server.kill();
      await gone(store);
      const month = { type: "calendar", period: "month" } as const;
      for (let i = 0; i < users; i++) {
        const claims = [images(1, 20_000), counter(`user:${i}:images`, month, 9)];
        store.settle(reservationOf(await store.reserve(claims)), [1, 1]);
      }
      await server.start();
      await Promise.all([back(store), back(other)]);
      await vi.waitFor(async () => {
        const [standing] = (await other.reserve([images(20_001, 20_000)])).standings;
        expect(standing?.remaining).toBe(20_000 - users);
      });
    });

    it("counts what it was not told where it was used, whatever a gateway's clock says", async () => {
      const store = await replica();
      const other = await replica();
      await server.kill();
      await gone(store);
      vi.useFakeTimers({ toFake: ["Date"], now: Date.now() + 400 * 86_400_000 });
      onTestFinished(() => void vi.useRealTimers());
      store.settle(reservationOf(await store.reserve([images(4)])), [4]);
      await server.start();
      await Promise.all([back(store), back(other)]);
      await vi.waitFor(async () => {
        const [standing] = (await other.reserve([images(11)])).standings;
        expect(standing?.remaining).toBe(6);
        expect(standing?.resetMs).toBeLessThanOrEqual(31 * 86_400_000);
      });
    });

    it("counts of an outage over the hour what was used in this one, and all of it in the month", async () => {
      let now = Date.UTC(2026, 0, 15, 12, 50);
      const clock = () => now;
      const spend = (amount: number): Claim => ({
        ...counter("spend", { type: "calendar", period: "hour" }, 10),
        amount,
      });
      const store = await replica({ clock });
      const other = await replica({ clock });
      await server.kill();
      await gone(store);
      const use = async (amount: number) =>
        store.settle(reservationOf(await store.reserve([spend(amount), images(1)])), [amount, 1]);
      await use(4);
      now += 20 * 60_000;
      await use(3);
      await server.start();
      await Promise.all([back(store), back(other)]);
      await vi.waitFor(async () => {
        const { standings } = await other.reserve([spend(11), images(11)]);
        expect(standings.map(({ remaining }) => remaining)).toEqual([7, 8]);
      });
    });

    it.each([
      ["before it ends", true],
      ["after it ended", false],
    ])("charges a call once whose answer was lost, and that is counted %s", async (_, early) => {
      const store = await replica();
      server.pause();
      // The question waits in the server's socket.
      const reservation = reservationOf(await store.reserve([images(5), slot(1)]));
      if (!early) store.settle(reservation, [4, 1]);
      server.resume();
      await back(store);
      if (early) store.settle(reservation, [4, 1]);
      const other = await replica();
      await vi.waitFor(async () => {
        const verdict = await other.reserve([images(9), slot(1)]);
        expect(verdict.standings.map(({ remaining }) => remaining)).toEqual([6, 1]);
      });
    });

    it("is told again what calls took where it went away before it answered", async () => {
      const store = await replica({}, patient);
      await server.kill();
      await gone(store);
      const reservation = reservationOf(await store.reserve([images(4)]));
      await server.start();
      await back(store);
      server.pause();
      // What it is told now waits in its socket, and ends with it.
      store.settle(reservation, [4]);
      await server.kill();
      await gone(store);
      await server.start();
      const other = await replica();
      const left = async () => (await other.reserve([images(11)])).standings[0]?.remaining;
      await expect.poll(left).toBe(6);
    });

    it("is told again what it was too slow to confirm, also where it never counts as away", async () => {
      const store = await replica({}, patient);
      const other = await replica({}, patient);
      const left = async () => (await other.reserve([images(1)])).standings[0]?.remaining;
      const reservation = reservationOf(await store.reserve([images(5)]));
      const { connection } = open[0] as (typeof open)[number];
      const ask = vi.spyOn(connection, "ask");
      ask.mockRejectedValueOnce(new Error("no answer in time"));
      store.settle(reservation, [1]);
      await vi.waitFor(() => expect(ask).toHaveBeenCalledTimes(2));
      await ask.mock.results[1]?.value;
      expect(await left()).toBe(8);
      expect(store.state).toMatchObject({ available: true, outages: 0 });
    });

    it("is told the rest of what is owed where it is too slow to confirm some of it", async () => {
      const store = await replica();
      const other = await replica({}, patient);
      // More than are told at once.
      const verdicts = await Promise.all(
        Array.from({ length: 250 }, () => store.reserve([images(2, 1000)])),
      );
      server.pause();
      await store.reserve([requests(1)]);
      for (const verdict of verdicts) store.settle(reservationOf(verdict), [1]);
      const { connection } = open[0] as (typeof open)[number];
      const ask = connection.ask.bind(connection);
      let late = 0;
      vi.spyOn(connection, "ask").mockImplementation((command, bytes) =>
        command.toString().includes("settleScript") && late++ === 0
          ? Promise.reject(new Error("no answer in time"))
          : ask(command, bytes),
      );
      server.resume();
      await back(store);
      const left = async () => (await other.reserve([images(1001, 1000)])).standings[0]?.remaining;
      await expect.poll(left).toBe(750);
    });

    it("is told all that is owed before the end", async () => {
      const store = await replica({}, patient);
      await server.kill();
      await gone(store);
      // More than are told at once.
      const many = Array.from({ length: 250 }, (_, i) =>
        counter(`images-${i}`, { type: "calendar", period: "month" }, 10),
      );
      store.settle(reservationOf(await store.reserve(many)), Array(250).fill(3));
      const { connection } = open.pop() as (typeof open)[number];
      const closed = new Promise<void>((resolve) => {
        // As soon as it is back.
        connection.onAvailable(async () => {
          await store.close();
          await connection.close();
          resolve();
        });
      });
      await server.start();
      await closed;
      const other = await replica({}, patient);
      const { standings } = await other.reserve(many);
      expect(standings.map(({ remaining }) => remaining)).toEqual(Array(250).fill(6));
    });

    it("does not count a question that arrives after its call was settled", async () => {
      await replica();
      const { connection } = open[0] as (typeof open)[number];
      const start = Date.UTC(2026, 0, 1);
      const keys = ["{late}:r", "{late}:images", "{late}:claims"];
      const ask = (script: Script, ...args: (string | number)[]) =>
        connection.ask((client) => runScript(client, script, keys, args));
      await ask(settleScript, start, "id", 60_000, "c", -1, 4, "month", 60_000);
      await ask(reserveScript, start, 60_000, "id", 1000, "c", 10, 5, "month", 60_000);
      expect(await connection.client.hget("{late}:images", "u")).toBe("4");
    });

    it("frees the slots of a replica that died, and of no other", async () => {
      const clock = { now: Date.UTC(2026, 0, 15, 12) };
      const options = { clock: () => clock.now, leaseMs: 30_000 };
      const [dying, living] = await Promise.all([replica(options), replica(options)]);
      const free = async () => (await living.reserve([slot(2)])).standings[0]?.remaining;
      await dying.reserve([slot(2)]);
      clock.now += 20_000;
      await living.reserve([slot(2)]);
      expect((await living.reserve([slot(2)])).granted).toBe(false);
      clock.now += 9_999;
      expect((await living.reserve([slot(2)])).granted).toBe(false);
      clock.now += 1;
      expect(await free()).toBe(0);
      expect((await living.reserve([slot(2)])).granted).toBe(false);
    });

    it("keeps the slots of calls that run for long, also over a restart of the store", async () => {
      const clock = { now: Date.UTC(2026, 0, 15, 12) };
      // Renewed every 20 ms of real time; the lease itself counts by the clock.
      const options = { clock: () => clock.now, leaseMs: 60 };
      const [store, other] = await Promise.all([replica(options), replica(options)]);
      const reservation = reservationOf(await store.reserve([slot(1)]));
      const client = open[1]?.connection.client;
      const leaseEnds = async () =>
        Number((await client?.zrange("lintel:{limits}:concurrent", 0, -1, "WITHSCORES"))?.[1]);
      for (let i = 0; i < 3; i++) {
        clock.now += 50;
        await vi.waitFor(async () => expect(await leaseEnds()).toBe(clock.now + 60));
      }
      expect((await other.reserve([slot(1)])).granted).toBe(false);
      await server.kill();
      await server.start();
      await Promise.all([back(store), back(other)]);
      await vi.waitFor(async () => expect(await leaseEnds()).toBe(clock.now + 60));
      expect(await client?.pttl("lintel:{limits}:concurrent")).not.toBe(-1);
      expect((await other.reserve([slot(1)])).granted).toBe(false);
      store.settle(reservation, [1]);
      await vi.waitFor(async () => expect((await other.reserve([slot(1)])).granted).toBe(true));
    });

    /** A store whose leases are renewed every 20 ms of real time, and count by a clock that stands still. */
    async function renewing() {
      const clock = { now: Date.UTC(2026, 0, 15, 12) };
      const store = await replica({ clock: () => clock.now, leaseMs: 60 }, patient);
      const { client } = (open.at(-1) as (typeof open)[number]).connection;
      return {
        store,
        clock,
        client,
        /** Waits until all leases of some counters are those of now. */
        renewed: (...keys: string[]) =>
          expect
            .poll(async () => {
              const ranges = await Promise.all(
                keys.map((key) => client.zrange(`lintel:{limits}:${key}`, 0, -1, "WITHSCORES")),
              );
              return ranges.map(([, ends]) => Number(ends));
            })
            .toEqual(keys.map(() => clock.now + 60)),
      };
    }

    it("renews no slot of a call that ended", async () => {
      const { store, clock, renewed } = await renewing();
      await store.reserve([slot(2)]);
      store.settle(reservationOf(await store.reserve([slot(2)])), [1]);
      for (let i = 0; i < 3; i++) {
        clock.now += 50;
        await renewed("concurrent");
      }
      expect((await store.reserve([slot(2)])).granted).toBe(true);
    });

    it("renews no slot of a call that was refused", async () => {
      const { store, clock, client, renewed } = await renewing();
      expect((await store.reserve([slot(1)])).granted).toBe(true);
      expect((await store.reserve([slot(1)])).granted).toBe(false);
      clock.now += 50;
      await renewed("concurrent");
      // One script renews all that there are.
      await expect.poll(() => client.zcard("lintel:{limits}:concurrent")).toBe(1);
    });

    it("renews every slot, however many there are", async () => {
      const { store, clock, renewed } = await renewing();
      const keys = Array.from({ length: 501 }, (_, i) => `concurrent-${i}`);
      const slots = keys.map((key) => counter(key, { type: "running" }, 1, false));
      expect((await store.reserve(slots)).granted).toBe(true);
      clock.now += 50;
      await renewed(...keys);
    });
  },
);
