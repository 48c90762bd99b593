/** What a store knows of its images between two looks at them. */
import { expect, test } from "vitest";
import { silent } from "../../src/core/log.js";
import { type Listed, Retention } from "../../src/media/retention.js";
import { settled } from "../support/clock.js";

/** A shelf of 1000 bytes whose listings come when the test says so. */
function shelfOf(elastic: boolean, ttlMs = 3_600_000) {
  const images = new Map<string, Listed>();
  const listings: { come(): void; fail(): void }[] = [];
  const said: string[] = [];
  const warned: string[] = [];
  const log = {
    ...silent,
    warn: (_: object, message: string) => void warned.push(message),
    error: (_: object, message: string) => void said.push(message),
  };
  let now = Date.UTC(2030, 0, 1);
  const shelf = {
    elastic,
    list: () => {
      const found = [...images.values()];
      return new Promise<Listed[]>((resolve, reject) => {
        listings.push({ come: () => resolve(found), fail: () => reject(new Error("away")) });
      });
    },
    delete: async (name: string) => void images.delete(name),
  };
  const retention = new Retention(shelf, { ttlMs, maxBytes: 1000, log, now: () => now });
  const put = (name: string, bytes: number) =>
    retention.store(bytes, async () => {
      now += 1000;
      images.set(name, { name, bytes, storedAt: now });
    });
  const wait = (ms: number) => {
    now += ms;
  };
  return { retention, put, listings, said, warned, wait, names: () => [...images.keys()] };
}

test("an image that is written while the others are listed counts", async () => {
  const { retention, put, listings, names } = shelfOf(false);
  await put("a", 600);
  listings[0]?.come();
  await settled();
  const stored = put("b", 600);
  await settled();
  // There is no room for it before the first is gone.
  expect([listings.length, names()]).toEqual([2, ["a"]]);
  listings[1]?.come();
  await stored;
  expect(names()).toEqual(["b"]);
  await retention.close();
});

test("a sweep that had looked before an image came makes no room for the next", async () => {
  const { retention, put, listings, names } = shelfOf(false);
  await put("a", 600);
  const stored = put("b", 600);
  await settled();
  listings[0]?.come();
  await settled();
  expect([listings.length, names()]).toEqual([2, ["a"]]);
  listings[1]?.come();
  await stored;
  expect(names()).toEqual(["b"]);
  await retention.close();
});

test("room is made for several images at once: not each of them has the others listed", async () => {
  const { retention, put, listings, names } = shelfOf(false);
  listings[0]?.come();
  for (let i = 0; i < 20; i++) await put(`${i}`, 50);
  const stored = put("next", 50);
  await settled();
  listings[1]?.come();
  await stored;
  await put("after", 50);
  expect([listings.length, names().length]).toEqual([2, 19]);
  await retention.close();
});

test("a store that can't be listed is not asked again for each image, and serves", async () => {
  const { retention, put, listings, said, names } = shelfOf(true);
  listings[0]?.fail();
  await settled();
  for (const name of ["a", "b", "c", "d"]) await put(name, 600);
  expect([listings.length, names()]).toEqual([1, ["a", "b", "c", "d"]]);
  expect(said).toEqual(["images could not be swept"]);
  // From time to time it is.
  const swept = retention.sweep();
  listings[1]?.come();
  await swept;
  expect(names()).toEqual(["d"]);
  await retention.close();
});

test("where an image may be above the bound, room is made while it is written", async () => {
  const { retention, put, listings, names } = shelfOf(true);
  listings[0]?.come();
  await settled();
  await put("a", 600);
  await put("b", 600);
  expect([listings.length, names()]).toEqual([2, ["a", "b"]]);
  listings[1]?.come();
  await settled();
  expect(names()).toEqual(["b"]);
  await retention.close();
});

test("what goes young is told of, unless it was not to be kept for longer", async () => {
  const { retention, put, listings, warned, wait, names } = shelfOf(false, 30_000);
  listings[0]?.come();
  await settled();
  await put("a", 600);
  wait(30_000);
  const swept = retention.sweep();
  listings[1]?.come();
  await swept;
  expect([names(), warned]).toEqual([[], []]);
  await put("b", 600);
  const stored = put("c", 600);
  await settled();
  listings[2]?.come();
  await stored;
  expect([names(), warned]).toEqual([["c"], [expect.stringContaining("within a minute")]]);
  await retention.close();
});

test("a store ends with the sweep that runs, which is no error", async () => {
  const { retention, listings, said } = shelfOf(false);
  let ended = false;
  const closed = retention.close().then(() => {
    ended = true;
  });
  await settled();
  expect(ended).toBe(false);
  listings[0]?.fail();
  await closed;
  expect(said).toEqual([]);
});
