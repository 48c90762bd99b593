/** The store goes away and comes back, while calls are counted. */
import { Redis } from "ioredis";
import { describe, expect, it, onTestFinished, vi } from "vitest";
import { redisBinary, redisServers } from "../../support/redis.js";
import { patient, replicasAt, requests } from "./replicas.js";

describe.skipIf(!redisBinary).each(redisServers)(
  "a store of limits in %s that goes away",
  (_, binary) => {
    const here = replicasAt(binary);
    const { open, said, reasons, replica, back, gone } = here;

    it("is decided without, said once, and comes back by itself", async () => {
      const store = await replica();
      for (let i = 0; i < 3; i++) expect((await store.reserve([requests(3)])).granted).toBe(true);
      expect((await store.reserve([requests(3)])).granted).toBe(false);
      await here.server.kill();
      await gone(store);
      // Counted in this process from now on, by the same limit.
      const verdicts = await Promise.all(
        Array.from({ length: 10 }, () => store.reserve([requests(3)])),
      );
      expect(verdicts.filter(({ granted }) => granted)).toHaveLength(3);
      expect(store.state).toMatchObject({ kind: "redis", outages: 1, decidedWithout: 10 });
      await here.server.start();
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
        here.server.pause();
        // One that does not answer in time, and one that is known to be away.
        expect([await left(), await left()]).toEqual([undefined, undefined]);
        here.server.resume();
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
      here.server.pause();
      await store.reserve([requests(3)]);
      await gone(store);
      // Whoever asks meanwhile goes ahead.
      expect(store.hold("b", "two", 60_000)).toBe(true);
      store.release("a", "one");
      store.keep("b", "one", 600_000);
      store.keep("c", "one", 60_000);
      here.server.resume();
      await back(store);
      await back(other);
      await vi.waitFor(
        async () => expect(await other.hold("a", "two", 60_000)).toBe(true),
        patient,
      );
      expect(await store.hold("a", "one", 60_000)).toBe(false);
      const asking = new Redis(here.server.url);
      onTestFinished(() => asking.disconnect());
      const left = () => asking.pttl("lintel:{limits}:first:b");
      await vi.waitFor(async () => expect(await left()).toBeGreaterThan(60_000), patient);
      await vi.waitFor(
        async () => expect(await asking.get("lintel:{limits}:first:c")).toBe("one"),
        patient,
      );
    });

    it("is away where the server has not its database, and counts in no other one", async () => {
      const asking = new Redis(here.server.url);
      onTestFinished(() => asking.disconnect());
      const fifth = await replica({}, 100, `${here.server.url}/5`);
      await fifth.reserve([requests(3)]);
      const store = await replica({}, 100, `${here.server.url}/99`);
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
      await here.server.kill();
      await here.server.start();
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
      const store = await replica({}, patient, here.server.url.replace("//", "//u:p@"));
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
      here.server.pause();
      const asked = store.reserve([requests(10)]);
      await here.server.kill();
      expect((await asked).granted).toBe(true);
      await here.server.start();
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
      await here.server.kill();
      const store = await replica();
      expect((await store.reserve([requests(1)])).granted).toBe(true);
      expect((await store.reserve([requests(1)])).granted).toBe(false);
      await here.server.start();
      await back(store);
      expect((await store.reserve([requests(1)])).granted).toBe(true);
    });

    it("refuses calls meanwhile where the operator closed on it", async () => {
      const store = await replica({ onFailure: "closed" });
      await here.server.kill();
      await gone(store);
      await expect(async () => store.reserve([requests(3)])).rejects.toMatchObject({
        code: "unavailable",
        retryAfter: 1,
      });
      expect(said).toEqual([
        "warn: the store is away: calls that would have to be counted are refused until it is back",
      ]);
      await here.server.start();
      await back(store);
      expect((await store.reserve([requests(3)])).granted).toBe(true);
    });

    it("holds no call up that is deaf", async () => {
      const store = await replica();
      here.server.pause();
      // It answers while the server still does not; the next one does not even ask.
      expect((await store.reserve([requests(1)])).granted).toBe(true);
      expect(store.reserve([requests(1)])).not.toBeInstanceOf(Promise);
      here.server.resume();
      await back(store);
    });

    it("divides limits among replicas while they can't ask", async () => {
      const store = await replica({ replicas: 3 });
      await here.server.kill();
      await gone(store);
      const verdicts = await Promise.all(
        Array.from({ length: 20 }, () => store.reserve([requests(9)])),
      );
      expect(verdicts.filter(({ granted }) => granted)).toHaveLength(3);
    });
  },
);
