/** Room is made in a bucket, by the requests that it gets. */
import { afterEach, expect, test } from "vitest";
import { silent } from "../../src/core/log.js";
import { type S3Media, type S3Settings, s3Media } from "../../src/media/s3.js";
import { FakeClock } from "../support/clock.js";
import { nameIn } from "./contract.js";
import { type ScriptedS3, scriptedS3 } from "./s3-scripted.js";

const opened: S3Media[] = [];
afterEach(async () => {
  for (const store of opened.splice(0)) await store.close();
});

/** Names of so many images. */
const names = (count: number) =>
  Array.from({ length: count }, (_, i) => `${String(i).padStart(32, "0")}.png`);

const bucketOf = (count: number) => new Map(names(count).map((name) => [name, 100]));

async function open({ endpoint }: ScriptedS3, settings: Partial<S3Settings>): Promise<S3Media> {
  const store = await s3Media({
    bucket: "pictures",
    prefix: "",
    endpoint,
    region: "us-east-1",
    pathStyle: true,
    credentials: { accessKeyId: "a", secretAccessKey: "b" },
    address: { by: "presigned" },
    ttlMs: 3_600_000,
    maxBytes: 10_000,
    now: () => Date.UTC(2030, 0, 1),
    log: silent,
    ...settings,
  });
  opened.push(store);
  return store;
}

/** A promise, and what resolves it. */
function gate() {
  let lift = () => {};
  const lifted = new Promise<void>((resolve) => {
    lift = resolve;
  });
  return { lifted, lift };
}

test("many are deleted at once, the oldest first, and no more than needed", async () => {
  const several = gate();
  const deleted: string[] = [];
  const server = await scriptedS3(bucketOf(100), async (name) => {
    deleted.push(name);
    // None is gone before eight are asked for.
    if (deleted.length === 8) several.lift();
    await several.lifted;
    return 204;
  });
  const store = await open(server, { maxBytes: 5000 });
  await store.sweep();
  expect(deleted.sort()).toEqual(names(55));
});

test("what is not ours is neither counted, shown nor deleted", async () => {
  const others = new Map([
    ["notes.txt", 5000],
    [`old-${names(1)[0]}`, 5000],
  ]);
  const server = await scriptedS3(new Map([...others, ...bucketOf(10)]));
  const store = await open(server, { maxBytes: 1000 });
  await store.sweep();
  const before = server.asked.length;
  for (const name of others.keys()) {
    expect(await store.get(name)).toBeUndefined();
    await store.delete(name);
  }
  expect(server.asked).toHaveLength(before);
  expect([...server.objects.keys()]).toEqual([...others.keys(), ...names(10)]);
  // A year later the images are too old.
  const later = await open(server, { now: () => Date.UTC(2031, 0, 1) });
  await later.sweep();
  expect([...server.objects.keys()]).toEqual([...others.keys()]);
});

test("an image does not wait for the room that it needs", async () => {
  const held = gate();
  const server = await scriptedS3(bucketOf(10), async () => {
    await held.lifted;
    return 204;
  });
  const store = await open(server, { maxBytes: 1000 });
  await store.sweep();
  const name = nameIn(await store.put(Buffer.alloc(100)));
  expect(server.objects.has(name)).toBe(true);
  expect(server.objects.size).toBe(11);
  held.lift();
  await store.sweep();
  // The new one counts, although it came while room was being made.
  await store.sweep();
  expect([...server.objects.keys()]).toEqual([...names(10).slice(-8), name]);
});

test("a store that closes leaves the rest, also what the bucket does not answer", async () => {
  let asked = 0;
  const many = gate();
  const server = await scriptedS3(bucketOf(100), () => {
    if (++asked === 16) many.lift();
    return new Promise(() => {});
  });
  const said: string[] = [];
  const error = (_: object, message: string) => void said.push(message);
  const store = await open(server, { maxBytes: 1000, log: { ...silent, error } });
  await many.lifted;
  await store.close();
  expect(asked).toBe(16);
  expect(said).toEqual([]);
});

test("a store that closes waits for no list, and asks for none any more", async () => {
  const listed = gate();
  const server = await scriptedS3(bucketOf(1), undefined, async () => {
    // The start asks for one, too.
    if (server.asked.length === 1) return;
    listed.lift();
    await new Promise(() => {});
  });
  const store = await open(server, { patience: { connectMs: 1e9, answerMs: 1e9 } });
  await listed.lifted;
  await store.close();
  await store.sweep();
  expect(server.asked).toEqual(["LIST", "LIST"]);
});

test("a bucket that can't be listed is away, and asked no more once the store is closed", async () => {
  const server = await scriptedS3(bucketOf(1), undefined, async () => {
    // The start asks for one, too.
    if (server.asked.length > 1) throw new Error("broken off");
  });
  const clock = new FakeClock();
  const store = await open(server, { clock });
  await store.sweep();
  expect([store.state?.away, store.state?.outages, clock.timers]).toEqual([true, 1, 1]);
  await store.close();
  expect(clock.timers).toBe(0);
});

test("objects that can't be deleted do not keep the others, and images do not ask again", async () => {
  const locked = new Set(names(20));
  const server = await scriptedS3(bucketOf(40), (name) => (locked.has(name) ? 403 : 204));
  const said: object[] = [];
  const error = (fields: object) => void said.push(fields);
  const store = await open(server, { maxBytes: 1000, log: { ...silent, error } });
  await store.sweep();
  expect([...server.objects.keys()]).toEqual([...locked]);
  expect(said).toMatchObject([{ name: names(1)[0], count: 20 }]);
  const before = server.asked.length;
  for (let i = 0; i < 3; i++) await store.put(Buffer.alloc(10));
  expect(server.asked.slice(before)).toEqual(["PUT", "PUT", "PUT"]);
});

test("what can't be deleted is left alone for an hour", async () => {
  const server = await scriptedS3(bucketOf(100), () => 403);
  const said: object[] = [];
  const error = (fields: object) => void said.push(fields);
  let clock = Date.UTC(2030, 0, 1);
  const store = await open(server, { maxBytes: 1000, now: () => clock, log: { ...silent, error } });
  const deletions = async () => {
    const before = server.asked.length;
    await store.sweep();
    return server.asked.slice(before).filter((method) => method === "DELETE").length;
  };
  // The one of the opening is awaited here.
  await store.sweep();
  expect(said).toMatchObject([{ count: 100 }]);
  expect(await deletions()).toBe(0);
  clock += 3_600_000;
  expect(await deletions()).toBe(100);
  expect(said).toHaveLength(2);
});
