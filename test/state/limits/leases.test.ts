/** Slots of running calls: those of a replica that died are freed, all others are kept. */
import { describe, expect, it, vi } from "vitest";
import { redisBinary, redisServers } from "../../support/redis.js";
import { counter, patient, replicasAt, reservationOf, slot } from "./replicas.js";

describe.skipIf(!redisBinary).each(redisServers)(
  "slots at a store of limits in %s",
  (_, binary) => {
    const here = replicasAt(binary);
    const { open, replica, back } = here;

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
      await here.server.kill();
      await here.server.start();
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
