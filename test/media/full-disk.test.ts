/** A disk that is full before the store has the size that it may have. */
import { expect, test } from "vitest";
import { silent } from "../../src/core/log.js";
import { type Listed, Retention } from "../../src/media/retention.js";

/** A shelf of so many bytes, with so many of others on it; `code` is what the disk says that is full. */
function shelfOf(room: number, code = "ENOSPC") {
  const images = new Map<string, Listed>();
  const said: string[] = [];
  const disk = { others: 0 };
  const clock = { now: Date.UTC(2030, 0, 1) };
  const log = { ...silent, warn: (_: object, message: string) => void said.push(message) };
  const shelf = {
    elastic: false,
    list: async () => [...images.values()],
    delete: async (name: string) => void images.delete(name),
  };
  const settings = { ttlMs: 3_600_000, maxBytes: 1_000_000, log, now: () => clock.now };
  const retention = new Retention(shelf, settings);
  const put = (name: string, bytes: number) =>
    retention.store(bytes, async () => {
      clock.now += 61_000;
      const used = [...images.values()].reduce((sum, one) => sum + one.bytes, disk.others);
      if (used + bytes > room) throw Object.assign(new Error("full"), { code });
      images.set(name, { name, bytes, storedAt: clock.now });
    });
  return { retention, put, shelf, disk, clock, said, names: () => [...images.keys()] };
}

// EDQUOT: of a disk that others share, the owner's part of it.
test.each(["ENOSPC", "EDQUOT"])("has room made on it by the oldest images: %s", async (code) => {
  const { retention, put, said, names } = shelfOf(1000, code);
  await retention.sweep();
  for (const name of ["a", "b", "c", "d", "e"]) await put(name, 200);
  await put("f", 200);
  expect(names()).toEqual(["c", "d", "e", "f"]);
  await put("g", 200);
  expect(names()).toEqual(["c", "d", "e", "f", "g"]);
  expect(said).toEqual(["the disk is full: the oldest images make room"]);
  await retention.close();
});

test("takes no image where others fill it, and keeps those that are there once they don't", async () => {
  const { retention, put, disk, said, names } = shelfOf(1000);
  await retention.sweep();
  disk.others = 900;
  await expect(put("a", 200)).rejects.toThrowError("full");
  // There are none that could make room.
  expect(said).toEqual([]);
  disk.others = 0;
  for (const name of ["b", "c", "d"]) await put(name, 200);
  await retention.sweep();
  expect(names()).toEqual(["b", "c", "d"]);
  await retention.close();
});

test("is no longer taken for full once others make room", async () => {
  const { retention, put, disk, names } = shelfOf(1000);
  await retention.sweep();
  await put("a", 200);
  await put("b", 200);
  disk.others = 600;
  await put("c", 200);
  expect(names()).toEqual(["c"]);
  disk.others = 0;
  for (const name of ["d", "e"]) await put(name, 200);
  expect(names()).toEqual(["c", "d", "e"]);
  await retention.close();
});

test("has room made on it also where a sweep has looked at it before it was full", async () => {
  const { retention, put, shelf, clock, names } = shelfOf(1000);
  await retention.sweep();
  await put("expired", 10);
  clock.now += 3_600_000;
  for (const name of ["a", "b", "c", "d", "e"]) await put(name, 190);
  let deleted = () => {};
  const remove = shelf.delete;
  const deleting = new Promise<void>((resolve) => {
    shelf.delete = async (name) => {
      shelf.delete = remove;
      resolve();
      await new Promise<void>((done) => {
        deleted = done;
      });
      await remove(name);
    };
  });
  const swept = retention.sweep();
  await deleting;
  const stored = put("f", 190);
  // The disk is full before the sweep goes on.
  await new Promise((resolve) => setImmediate(resolve));
  deleted();
  await Promise.all([swept, stored]);
  expect(names()).toContain("f");
  await retention.close();
});
