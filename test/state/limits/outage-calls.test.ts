/** What calls take while the store is away, in this process and, later, there; and how their slots outlive it. */
import { describe, expect, it, onTestFinished, vi } from "vitest";
import type { Claim, Counter, Verdict } from "../../../src/core/limits/store.js";
import { silent } from "../../../src/core/log.js";
import { type RedisLimitOptions, RedisLimits } from "../../../src/state/limits/redis.js";
import { RedisConnection } from "../../../src/state/redis/connection.js";
import { redisBinary, redisServers, startRedis } from "../../support/redis.js";

const counter = (key: string, span: Counter["span"], limit: number, estimated = true): Counter => ({
  key,
  span,
  limit,
  estimated,
});
const images = (amount: number): Claim => ({
  counter: counter("images", { type: "calendar", period: "month" }, 10),
  amount,
});
const slot: Claim = { counter: counter("concurrent", { type: "running" }, 1, false), amount: 1 };

function reservationOf(verdict: Verdict) {
  if (!verdict.granted) throw new Error("refused");
  return verdict.reservation;
}

describe.skipIf(!redisBinary).each(redisServers)("calls while limits in %s", (_, binary) => {
  async function opened() {
    const server = await startRedis({ binary });
    onTestFinished(() => server.close());
    const replica = async (options: RedisLimitOptions = {}) => {
      const connection = new RedisConnection({ url: server.url, timeoutMs: 100 }, silent);
      const store = new RedisLimits(connection, options);
      onTestFinished(async () => {
        server.resume();
        await store.close();
        await connection.close();
      });
      await connection.settled(1000);
      const is = (available: boolean) =>
        vi.waitFor(() => expect(store.state.available).toBe(available));
      return { store, connection, back: () => is(true), gone: () => is(false) };
    };
    const left = async () => {
      const { store } = await replica();
      return (await store.peek([images(1).counter]))[0]?.remaining;
    };
    return { server, replica, left };
  }

  it("are away have their slots in this process, and others have them afterwards", async () => {
    const { server, replica } = await opened();
    const { store, gone } = await replica();
    await server.kill();
    await gone();
    for (let i = 0; i < 2; i++) {
      const reservation = reservationOf(await store.reserve([slot]));
      // Others may have what this process has not.
      expect(await store.reserve([slot])).toMatchObject({ granted: false, alone: true });
      store.settle(reservation, [1]);
    }
  });

  it("are away are charged once, however often they end", async () => {
    const { server, replica, left } = await opened();
    const { store, gone, back } = await replica();
    await server.kill();
    await gone();
    const reservation = reservationOf(await store.reserve([images(5)]));
    for (let i = 0; i < 2; i++) store.settle(reservation, [4]);
    await server.start();
    await back();
    await expect.poll(left).toBe(6);
  });

  it("are away are charged once, though it was not confirmed that they are", async () => {
    const { server, replica, left } = await opened();
    const { store, connection, gone, back } = await replica();
    await server.kill();
    await gone();
    store.settle(reservationOf(await store.reserve([images(5)])), [4]);
    const ask = connection.ask.bind(connection);
    let charged = 0;
    vi.spyOn(connection, "ask").mockImplementation(async (command, bytes) => {
      const answer = await ask(command, bytes);
      if (command.toString().includes("chargeScript") && ++charged === 1) {
        throw new Error("no answer in time");
      }
      return answer;
    });
    await server.start();
    await back();
    await vi.waitFor(() => expect(charged).toBe(2));
    expect(await left()).toBe(6);
  });

  it("go away are charged where their question was lost", async () => {
    const { server, replica, left } = await opened();
    const { store, gone, back } = await replica();
    server.pause();
    // The question waits in the server's socket, and ends with it.
    const reservation = reservationOf(await store.reserve([images(5)]));
    await server.kill();
    await gone();
    await server.start();
    await back();
    store.settle(reservation, [4]);
    await expect.poll(left).toBe(6);
  });

  it("go away take nothing where they are refused for that, though their question arrives", async () => {
    const { server, replica } = await opened();
    const { store, connection, back } = await replica({ onFailure: "closed" });
    server.pause();
    await expect(store.reserve([images(5)], 60_000)).rejects.toMatchObject({ code: "unavailable" });
    server.resume();
    await back();
    const used = () => connection.client.hget("lintel:{limits}:images", "u");
    await expect.poll(used).toBe("0");
  });

  it("begin anew have their slots at once, and while they last long before these end", async () => {
    // Whoever polls lets a little of the time of faked timers pass: a lease has far more.
    vi.useFakeTimers({ toFake: ["setInterval", "clearInterval"] });
    onTestFinished(() => void vi.useRealTimers());
    const clock = { now: Date.UTC(2026, 0, 15, 12) };
    const { server, replica } = await opened();
    const { store, connection, gone, back } = await replica({
      clock: () => clock.now,
      leaseMs: 30_000_000,
    });
    await store.reserve([slot]);
    const ends = async () =>
      Number(
        (await connection.client.zrange("lintel:{limits}:concurrent", 0, -1, "WITHSCORES"))[1],
      );
    expect(await ends()).toBe(clock.now + 30_000_000);
    clock.now += 15_000_000;
    vi.advanceTimersByTime(15_000_000);
    await expect.poll(ends).toBe(clock.now + 30_000_000);
    await server.kill();
    await gone();
    await server.start();
    await back();
    await expect.poll(ends).toBe(clock.now + 30_000_000);
  });
});
