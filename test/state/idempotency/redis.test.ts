import { afterAll, beforeAll, beforeEach, describe, expect, it, vi } from "vitest";
import { FirstFailed } from "../../../src/core/idempotency/store.js";
import { silent } from "../../../src/core/log.js";
import {
  type RedisIdempotencyOptions,
  redisIdempotency,
} from "../../../src/state/idempotency/redis.js";
import { RedisConnection } from "../../../src/state/redis/connection.js";
import { gate, never, outcome, start } from "../../support/calls.js";
import { coreOf } from "../../support/core.js";
import { freePort } from "../../support/port.js";
import { type RedisServer, redisBinary, redisServers, startRedis } from "../../support/redis.js";
import { hangsAfter, says, scripted } from "../../support/scripted.js";
import { idempotencyContract } from "./contract.js";

const chat = { messages: [{ role: "user", content: "hello" }] };
const options = { ttlMs: 60_000, maxAnswerBytes: 1_000_000, maxBytes: 1_000_000 };

it("says which calls are refused where the operator closed on the store", async () => {
  const told: object[] = [];
  const warn = (fields: object, message: string) => told.push({ ...fields, message });
  const nobody = { url: `redis://127.0.0.1:${await freePort()}` };
  const connection = new RedisConnection(nobody, { ...silent, warn }, "answers", "closed");
  await connection.settled(5000);
  await connection.close();
  const message = "the store is away: calls with an Idempotency-Key are refused until it is back";
  const reason = expect.stringContaining("ECONNREFUSED");
  expect(told).toEqual([{ store: "redis", keeps: "answers", reason, message }]);
});

describe.skipIf(!redisBinary).each(redisServers)("first answers in %s", (_, binary) => {
  let server: RedisServer;
  beforeAll(async () => {
    server = await startRedis({ binary });
  });
  afterAll(() => server.close());

  async function open(different: Partial<RedisIdempotencyOptions> = {}) {
    // Longer than a busy machine holds an answer up: whoever is late counts as away.
    const connection = new RedisConnection({ url: server.url, timeoutMs: 2000 }, silent);
    await connection.settled(5000);
    const store = redisIdempotency(connection, { ...options, ...different });
    return {
      connection,
      store,
      async close() {
        await store.close();
        await connection.close();
      },
    };
  }

  idempotencyContract("for all replicas", async (different) => {
    const [a, b] = await Promise.all([open(different), open(different)]);
    return {
      stores: [a.store, b.store],
      async close() {
        await Promise.all([a.close(), b.close()]);
      },
    };
  });

  describe("when something dies", () => {
    let key = 0;
    let idempotencyKey: string;
    beforeEach(() => {
      idempotencyKey = `dying-${key++}`;
    });

    it("runs the call of a replica that died for who waits", async () => {
      const [dying, living] = await Promise.all([open({ leaseMs: 300 }), open()]);
      const { handle } = hangsAfter();
      const core = coreOf(
        [scripted({ chat: handle })],
        {},
        {
          idempotency: { store: dying.store, lingerMs: 1000 },
        },
      );
      const stuck = start(core, "chat", chat, { idempotencyKey });
      stuck.messages[Symbol.asyncIterator]()
        .next()
        .catch(() => {});
      const backend = scripted({ chat: says("a") });
      const other = coreOf(
        [backend],
        {},
        {
          idempotency: { store: living.store, lingerMs: 1000 },
        },
      );
      await vi.waitFor(async () =>
        expect(await dying.connection.client.dbsize()).toBeGreaterThan(0),
      );
      // It says nothing more, as if it had been killed.
      await dying.connection.close();
      const { code } = await outcome(other, "chat", chat, { idempotencyKey });
      expect(code).toBe("ok");
      expect(backend.asked).toHaveLength(1);
      core.abort();
      await dying.close();
      await living.close();
    });

    it("remembers in this process while the store is away, or refuses", async () => {
      const [open1, closed] = await Promise.all([open(), open({ onFailure: "closed" })]);
      const backend = scripted({ chat: says("a") });
      const core = (store: (typeof open1)["store"]) =>
        coreOf([backend], {}, { idempotency: { store, lingerMs: 1000 } });
      await server.kill();
      await vi.waitFor(() => {
        expect([open1.connection.available, closed.connection.available]).toEqual([false, false]);
      });
      const first = await outcome(core(open1.store), "complete", chat, { idempotencyKey });
      const again = await outcome(core(open1.store), "complete", chat, { idempotencyKey });
      expect(again.messages[0]?.id).toBe(first.messages[0]?.id);
      expect(backend.asked).toHaveLength(1);
      const refused = await outcome(core(closed.store), "complete", chat, { idempotencyKey });
      expect(refused.code).toBe("unavailable");
      // A call without a key has nothing to do with the store.
      expect((await outcome(core(closed.store), "complete", chat)).code).toBe("ok");
      await server.start();
      await vi.waitFor(() => expect(closed.connection.available).toBe(true));
      expect((await outcome(core(closed.store), "complete", chat, { idempotencyKey })).code).toBe(
        "ok",
      );
      await open1.close();
      await closed.close();
    });

    it("knows what began while the store was away when it is back", async () => {
      const { connection, store, close } = await open();
      const { opened, open: goOn } = gate();
      const backend = scripted({
        async *chat(call) {
          await opened;
          yield* says("a")(call);
        },
      });
      const core = coreOf([backend], {}, { idempotency: { store, lingerMs: 60_000 } });
      await server.kill();
      await vi.waitFor(() => expect(connection.available).toBe(false));
      const running = outcome(core, "complete", chat, { idempotencyKey });
      await vi.waitFor(() => expect(backend.asked).toHaveLength(1));
      await server.start();
      await vi.waitFor(() => expect(connection.available).toBe(true));
      const asked = outcome(core, "complete", chat, { idempotencyKey });
      goOn();
      const [first, again] = await Promise.all([running, asked]);
      const later = await outcome(core, "complete", chat, { idempotencyKey });
      for (const { messages, metadata } of [again, later]) {
        expect(messages[0]?.id).toBe(first.messages[0]?.id);
        expect(metadata.get("idempotent-replayed")).toBe("true");
      }
      expect(backend.asked).toHaveLength(1);
      await close();
    });

    it("runs a call again at once of which a store that hung has the beginning alone", async () => {
      const { connection, store, close } = await open({ leaseMs: 60_000 });
      const hung = gate();
      const backend = scripted({
        async *chat(call) {
          for await (const batch of says("a", "b")(call)) {
            yield batch;
            await hung.opened;
          }
        },
      });
      const core = coreOf([backend], {}, { idempotency: { store, lingerMs: 1000 } });
      const parts = async () => (await connection.client.keys("*:parts")).length;
      const before = await parts();
      const running = outcome(core, "chat", chat, { idempotencyKey });
      await vi.waitFor(async () => {
        expect(await parts()).toBe(before + 1);
      });
      server.pause();
      hung.open();
      expect((await running).code).toBe("ok");
      await vi.waitFor(() => expect(connection.available).toBe(false));
      server.resume();
      await vi.waitFor(() => expect(connection.available).toBe(true));
      const again = await outcome(core, "chat", chat, { idempotencyKey });
      expect([again.code, again.messages.length]).toEqual(["ok", 3]);
      expect(again.metadata.has("idempotent-replayed")).toBe(false);
      expect(backend.asked).toHaveLength(2);
      await close();
    });

    it("runs a call at once that was refused since the store hung when it was asked", async () => {
      const [asked, other] = await Promise.all([
        open({ leaseMs: 3_600_000, onFailure: "closed" }),
        open(),
      ]);
      const backend = scripted({ chat: says("a") });
      const core = (store: (typeof asked)["store"]) =>
        coreOf([backend], {}, { idempotency: { store, lingerMs: 1000 } });
      const refusing = core(asked.store);
      const answers = async () => (await other.connection.client.keys("*{answer:*}")).length;
      const before = await answers();
      server.pause();
      const refused = await outcome(refusing, "chat", chat, { idempotencyKey });
      expect(refused.code).toBe("unavailable");
      server.resume();
      await vi.waitFor(() => expect(asked.connection.available).toBe(true));
      await vi.waitFor(async () => expect(await answers()).toBe(before));
      const again = await outcome(refusing, "chat", chat, { idempotencyKey });
      expect([again.code, again.metadata.has("idempotent-replayed")]).toEqual(["ok", false]);
      // What was taken back is not the answer that came then.
      const elsewhere = await outcome(core(other.store), "chat", chat, { idempotencyKey });
      expect(elsewhere.metadata.get("idempotent-replayed")).toBe("true");
      expect(backend.asked).toHaveLength(1);
      await asked.close();
      await other.close();
    });

    it("asks no more often than there are calls, where many are given up at once", async () => {
      const { connection, store, close } = await open();
      const backend = scripted({ chat: says("a") });
      const core = coreOf([backend], {}, { idempotency: { store, lingerMs: 1000 } });
      const asked = vi.spyOn(connection, "ask");
      const calls = Array.from({ length: 100 }, (_, i) => `${idempotencyKey}-${i}`);
      server.pause();
      const ran = await Promise.all(
        calls.map((key) => outcome(core, "complete", chat, { idempotencyKey: key })),
      );
      expect(new Set(ran.map(({ code }) => code))).toEqual(new Set(["ok"]));
      const whileAway = asked.mock.calls.length;
      server.resume();
      await vi.waitFor(() => expect(connection.available).toBe(true));
      // To open each, and to take each back; some of these twice, where it was just about to go.
      expect(whileAway).toBeLessThanOrEqual(2 * calls.length);
      expect(asked.mock.calls.length).toBeLessThanOrEqual(4 * calls.length);
      await close();
    });

    it("gives a call its answer whose store died on the way", async () => {
      const { connection, store, close } = await open();
      const dead = gate();
      const backend = scripted({
        async *chat(call) {
          for await (const batch of says("a", "b")(call)) {
            yield batch;
            await dead.opened;
          }
        },
      });
      const core = coreOf([backend], {}, { idempotency: { store, lingerMs: 1000 } });
      const running = outcome(core, "chat", chat, { idempotencyKey });
      await vi.waitFor(() => expect(backend.asked).toHaveLength(1));
      await server.kill();
      dead.open();
      const { code, messages } = await running;
      expect([code, messages.length]).toEqual(["ok", 3]);
      await server.start();
      await vi.waitFor(() => expect(connection.available).toBe(true));
      await close();
    });
  });

  it("runs a call again whose answer the store evicted", async () => {
    const { connection, store, close } = await open();
    const backend = scripted({ chat: says("a") });
    const core = coreOf([backend], {}, { idempotency: { store, lingerMs: 1000 } });
    const ask = () => outcome(core, "chat", chat, { idempotencyKey: "evicted" });
    const before = await connection.client.keys("*:parts");
    await ask();
    expect((await ask()).metadata.get("idempotent-replayed")).toBe("true");
    const parts = (await connection.client.keys("*:parts")).filter((key) => !before.includes(key));
    expect(await connection.client.del(...parts)).toBe(1);
    const again = await ask();
    expect([again.code, again.metadata.get("idempotent-replayed")]).toEqual(["ok", undefined]);
    expect(backend.asked).toHaveLength(2);
    expect((await ask()).metadata.get("idempotent-replayed")).toBe("true");
    // What is left of it is no part of the next one.
    const [list = ""] = parts;
    expect(await connection.client.del(list.replace(/:parts$/, ""))).toBe(1);
    expect((await ask()).metadata.get("idempotent-replayed")).toBeUndefined();
    expect((await ask()).metadata.get("idempotent-replayed")).toBe("true");
    expect(backend.asked).toHaveLength(3);
    await close();
  });

  it("does not play an answer whose beginning the store evicted while it ran", async () => {
    const { connection, store, close } = await open();
    const question = { name: "beheaded", caller: "c", print: "p", signal: never };
    const first = await store.open(question);
    if (first.as !== "first") throw new Error("not the first");
    const list = "lintel:{answer:beheaded}:parts";
    const written = () =>
      vi.waitFor(async () => expect(await connection.client.llen(list)).toBe(1));
    first.recorder.append(Buffer.from("a"));
    await written();
    await connection.client.del(list);
    first.recorder.append(Buffer.from("b"));
    await written();
    const again = await store.open(question);
    if (again.as !== "again") throw new Error("not again");
    await expect(again.parts[Symbol.asyncIterator]().next()).rejects.toThrow(FirstFailed);
    expect(await store.open(question)).toMatchObject({ as: "first" });
    await close();
  });

  it("tells a call whose caller left of one who asks again, also where nothing is written meanwhile", async () => {
    const { store, close } = await open({ leaseMs: 3_600_000 });
    const question = { name: "wanted", caller: "c", print: "p", signal: never };
    const first = await store.open(question);
    if (first.as !== "first") throw new Error("not the first");
    first.recorder.append(Buffer.from("a"));
    expect(await first.recorder.wanted()).toBe(false);
    const again = await store.open(question);
    if (again.as !== "again") throw new Error("not again");
    expect(String((await again.parts[Symbol.asyncIterator]().next()).value)).toBe("a");
    expect(await first.recorder.wanted()).toBe(true);
    await close();
  });

  it("keeps what a call has said by its lease, and all of it for as long as it was told", async () => {
    const { connection, store, close } = await open({ ttlMs: 3_600_000, leaseMs: 60_000 });
    const name = "leased";
    const first = await store.open({ name, caller: "c", print: "p", signal: never });
    if (first.as !== "first") throw new Error("not the first");
    const keys = [`lintel:{answer:${name}}`, `lintel:{answer:${name}}:parts`];
    const lives = () => Promise.all(keys.map((key) => connection.client.pttl(key)));
    first.recorder.append(Buffer.from("a"));
    await vi.waitFor(async () => expect(Math.min(...(await lives()))).toBeGreaterThan(0));
    expect(Math.max(...(await lives()))).toBeLessThanOrEqual(60_000);
    first.recorder.finish();
    await vi.waitFor(async () => expect(Math.min(...(await lives()))).toBeGreaterThan(60_000));
    await close();
  });

  it("mixes no answers of two calls of which the first was taken for dead", async () => {
    const { connection, store, close } = await open();
    const question = { name: "taken over", caller: "c", print: "p", signal: never };
    const opened = async () => {
      const first = await store.open(question);
      if (first.as !== "first") throw new Error("not the first");
      return first.recorder;
    };
    const hash = "lintel:{answer:taken over}";
    const written = (parts: number) =>
      vi.waitFor(async () => expect(await connection.client.llen(`${hash}:parts`)).toBe(parts));
    const dead = await opened();
    dead.append(Buffer.from("dead 0"));
    await written(1);
    const again = await store.open(question);
    if (again.as !== "again") throw new Error("not again");
    const parts = again.parts[Symbol.asyncIterator]();
    expect(String((await parts.next()).value)).toBe("dead 0");
    // As when its lease has ended.
    await connection.client.del(hash, `${hash}:parts`);
    const living = await opened();
    living.append(Buffer.from("living 0"));
    living.append(Buffer.from("living 1"));
    await written(2);
    await expect(parts.next()).rejects.toThrow(FirstFailed);
    dead.append(Buffer.from("dead 1"));
    await vi.waitFor(() => expect(dead.recording).toBe(false));
    living.finish();
    const last = await store.open(question);
    if (last.as !== "again") throw new Error("not again");
    const said: string[] = [];
    for await (const part of last.parts) said.push(String(part));
    expect(said).toEqual(["living 0", "living 1"]);
    await close();
  });

  it("keeps answers for as long as it was told", async () => {
    const { connection, store, close } = await open({ ttlMs: 60_000 });
    const core = coreOf(
      [scripted({ chat: says("a") })],
      {},
      {
        idempotency: { store, lingerMs: 1000 },
      },
    );
    await outcome(core, "complete", chat, { idempotencyKey: "kept" });
    await vi.waitFor(async () => {
      const keys = await connection.client.keys("lintel:{answer:*");
      const lives = await Promise.all(keys.map((name) => connection.client.pttl(name)));
      expect(lives.filter((ms) => ms > 50_000 && ms <= 60_000).length).toBeGreaterThanOrEqual(2);
      expect(lives.every((ms) => ms > 0)).toBe(true);
    });
    await close();
  });

  it.each([
    ["shorter", 30_000, 30_000],
    ["longer", 90_000, 60_000],
  ])("keeps one no longer than itself, or the store, says: %s", async (name, ttlMs, expected) => {
    const { store, close } = await open({ ttlMs: 60_000 });
    const first = await store.open({ name, caller: "c", print: "p", signal: never, ttlMs });
    if (first.as !== "first") throw new Error("not the first");
    first.recorder.append(Buffer.from("a"));
    first.recorder.finish();
    await close();
    const { connection: later, close: end } = await open();
    for (const key of [`lintel:{answer:${name}}`, `lintel:{answer:${name}}:parts`]) {
      const left = await later.client.pttl(key);
      expect(left).toBeGreaterThan(expected - 10_000);
      expect(left).toBeLessThanOrEqual(expected);
    }
    await end();
  });
});
