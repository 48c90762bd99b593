/** What the store of limits is told of calls that ended while it was away, or too slow to confirm it. */
import { describe, expect, it, onTestFinished, vi } from "vitest";
import type { Claim } from "../../../src/core/limits/store.js";
import { reserveScript, settleScript } from "../../../src/state/limits/scripts.js";
import { runScript, type Script } from "../../../src/state/redis/script.js";
import { redisBinary, redisServers } from "../../support/redis.js";
import {
  counter,
  images,
  patient,
  replicasAt,
  requests,
  reservationOf,
  slot,
  tokens,
} from "./replicas.js";

describe.skipIf(!redisBinary).each(redisServers)(
  "a store of limits in %s that was away",
  (_, binary) => {
    const here = replicasAt(binary);
    const { open, replica, back, gone } = here;

    it("hears of calls that ended meanwhile, once", async () => {
      const store = await replica();
      const other = await replica();
      const reservation = reservationOf(await store.reserve([tokens(80), images(8), slot(1)]));
      here.server.pause();
      await store.reserve([requests(1)]);
      store.settle(reservation, [30, 3, 1]);
      here.server.resume();
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
      await here.server.kill();
      await gone(store);
      const first = reservationOf(await store.reserve([tokens(80), images(4)]));
      const second = reservationOf(await store.reserve([images(4)]));
      store.settle(first, [80, 3]);
      await here.server.start();
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
      await here.server.kill();
      await gone(store);
      const month = { type: "calendar", period: "month" } as const;
      for (let i = 0; i < users; i++) {
        const claims = [images(1, 20_000), counter(`user:${i}:images`, month, 9)];
        store.settle(reservationOf(await store.reserve(claims)), [1, 1]);
      }
      await here.server.start();
      await Promise.all([back(store), back(other)]);
      await vi.waitFor(async () => {
        const [standing] = (await other.reserve([images(20_001, 20_000)])).standings;
        expect(standing?.remaining).toBe(20_000 - users);
      });
    });

    it("counts what it was not told where it was used, whatever a gateway's clock says", async () => {
      const store = await replica();
      const other = await replica();
      await here.server.kill();
      await gone(store);
      vi.useFakeTimers({ toFake: ["Date"], now: Date.now() + 400 * 86_400_000 });
      onTestFinished(() => void vi.useRealTimers());
      store.settle(reservationOf(await store.reserve([images(4)])), [4]);
      await here.server.start();
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
      await here.server.kill();
      await gone(store);
      const use = async (amount: number) =>
        store.settle(reservationOf(await store.reserve([spend(amount), images(1)])), [amount, 1]);
      await use(4);
      now += 20 * 60_000;
      await use(3);
      await here.server.start();
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
      here.server.pause();
      // The question waits in the server's socket.
      const reservation = reservationOf(await store.reserve([images(5), slot(1)]));
      if (!early) store.settle(reservation, [4, 1]);
      here.server.resume();
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
      await here.server.kill();
      await gone(store);
      const reservation = reservationOf(await store.reserve([images(4)]));
      await here.server.start();
      await back(store);
      here.server.pause();
      // What it is told now waits in its socket, and ends with it.
      store.settle(reservation, [4]);
      await here.server.kill();
      await gone(store);
      await here.server.start();
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
      here.server.pause();
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
      here.server.resume();
      await back(store);
      const left = async () => (await other.reserve([images(1001, 1000)])).standings[0]?.remaining;
      await expect.poll(left).toBe(750);
    });

    it("is told all that is owed before the end", async () => {
      const store = await replica({}, patient);
      await here.server.kill();
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
      await here.server.start();
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
  },
);
