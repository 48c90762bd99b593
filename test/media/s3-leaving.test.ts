/** Images in a bucket that nobody waits for any more: nothing of them goes on, and the bucket is not blamed. */
import { expect, onTestFinished, test } from "vitest";
import { Cancellation } from "../../src/core/cancellation.js";
import { callerLeft } from "../../src/core/errors.js";
import { s3Media } from "../../src/media/s3.js";
import { folderOf } from "../backends/onnx/support.js";
import { startBucket } from "../faults/bucket.js";
import { FakeClock } from "../support/clock.js";
import { gateway } from "../support/gateway.js";
import { bytesOf, nameIn } from "./contract.js";

async function bucketOf() {
  const bucket = await startBucket();
  onTestFinished(() => bucket.close());
  return bucket;
}

async function stored() {
  const bucket = await bucketOf();
  const clock = new FakeClock();
  const said: string[] = [];
  const say = (_: object, text: string) => void said.push(text);
  const store = await s3Media({
    ...{ bucket: "pictures", prefix: "made/", region: "us-east-1", pathStyle: true },
    address: { by: "gateway", baseUrl: () => "http://gateway" },
    ...{ ttlMs: 3_600_000, maxBytes: 10_000 },
    endpoint: bucket.url,
    credentials: { accessKeyId: "a", secretAccessKey: "b" },
    log: { debug() {}, info: say, warn: say, error: say },
    clock,
  });
  onTestFinished(() => store.close());
  // The first one runs meanwhile.
  await store.sweep();
  return { bucket, clock, said, store };
}

test("an image whose caller leaves is no longer sent, and is deleted", async () => {
  const { bucket, clock, store } = await stored();
  bucket.mood = "deaf";
  const caller = new Cancellation();
  const put = store.put(Buffer.from("picture"), undefined, caller);
  await expect.poll(() => bucket.open).toEqual(["PUT"]);
  const reason = callerLeft();
  caller.abort(reason);
  await expect(put).rejects.toBe(reason);
  await expect.poll(() => bucket.open).toEqual(["DELETE"]);
  // Nobody had the patience to find out that it does not answer.
  expect(store.state).toMatchObject({ away: false });
  bucket.mood = "away";
  await clock.advance(1000);
  await expect.poll(() => store.state).toMatchObject({ away: true, outages: 1 });
});

test("an image that arrived while its caller left is not kept", async () => {
  const { bucket, store } = await stored();
  bucket.mood = "mute";
  const caller = new Cancellation();
  const put = store.put(Buffer.from("picture"), undefined, caller);
  await expect.poll(() => bucket.keys).toHaveLength(1);
  caller.abort(callerLeft());
  await expect(put).rejects.toMatchObject({ code: "cancelled" });
  await expect.poll(() => bucket.keys).toHaveLength(0);
});

test("a reader who leaves is told nothing about the bucket", async () => {
  const { bucket, said, store } = await stored();
  const name = nameIn(await store.put(Buffer.alloc(1000)));
  bucket.mood = "deaf";
  const one = new Cancellation();
  const head = store.get(name, one);
  await expect.poll(() => bucket.open).toEqual(["HEAD"]);
  one.abort(callerLeft());
  await expect(head).rejects.toThrow();
  await expect.poll(() => bucket.open).toEqual([]);
  bucket.mood = "halting";
  const other = new Cancellation();
  const image = await store.get(name, other);
  const parts = image?.read()[Symbol.asyncIterator]();
  expect((await parts?.next())?.value).toHaveLength(500);
  const next = parts?.next();
  other.abort(callerLeft());
  await expect(next).rejects.toThrow();
  await expect.poll(() => bucket.open).toEqual([]);
  bucket.mood = "well";
  expect(await bytesOf(store, name)).toHaveLength(1000);
  expect(store.state).toMatchObject({ away: false, outages: 0 });
  expect(said.filter((text) => text.startsWith("the bucket"))).toEqual([]);
});

test("through a gateway whose bucket never answers", async () => {
  const bucket = await bucketOf();
  const { url, lines } = await gateway(`
backends:
  - { type: onnx, name: pictures, id: tiny, path: ${folderOf("tiny")}, threads: 1 }
media: { store: s3, s3: { bucket: pictures, endpoint: "${bucket.url}", access_key_id: a, secret_access_key: b, address: gateway } }
`);
  const draw = (signal?: AbortSignal) =>
    fetch(`${url}/text-to-image`, {
      method: "POST",
      headers: { authorization: "Bearer me", "content-type": "application/json" },
      body: JSON.stringify({
        ...{ prompt: "a dot", width: 64, height: 64, num_inference_steps: 1 },
        safety_check: false,
      }),
      ...(signal && { signal }),
    });
  const { images } = (await (await draw()).json()) as { images: [{ url: string }] };
  const [{ url: address }] = images;
  bucket.mood = "deaf";
  const leaving = new AbortController();
  const all = [draw(leaving.signal), fetch(address, { signal: leaving.signal })];
  await expect.poll(() => [...bucket.open].sort()).toEqual(["HEAD", "PUT"]);
  leaving.abort();
  for (const { status } of await Promise.allSettled(all)) expect(status).toBe("rejected");
  await expect.poll(() => bucket.open).toEqual(["DELETE"]);
  const told = () => lines.filter(({ message }) => message === "an image could not be read");
  expect(told()).toEqual([]);
  bucket.mood = "busy";
  expect((await fetch(address)).status).toBe(503);
  expect(told()).toMatchObject([{ level: "warn" }]);
});
