import { once } from "node:events";
import { existsSync, readdirSync, rmSync, utimesSync, writeFileSync } from "node:fs";
import { createServer as createHttpServer, type ServerResponse } from "node:http";
import { type AddressInfo, createServer, type Socket } from "node:net";
import { join } from "node:path";
import { afterAll, afterEach, beforeAll, describe, expect, onTestFinished, test } from "vitest";
import { silent } from "../../src/core/log.js";
import { type S3Media, type S3Settings, s3Media } from "../../src/media/s3.js";
import { FakeClock } from "../support/clock.js";
import { bytesOf, nameIn, storeContract } from "./contract.js";
import { scriptedS3 } from "./s3-scripted.js";
import { type S3Server, startS3, versitygw } from "./s3-server.js";

const hour = 3_600_000;

test.runIf(versitygw === undefined)("S3: skipped, versitygw is not installed", ({ skip }) => {
  if (process.env.LINTEL_REQUIRE_SERVERS) throw new Error("versitygw is not installed");
  skip();
});

test("an S3 store that does not answer is an error at the start that says so", async () => {
  const held: Socket[] = [];
  const server = createServer((socket) => {
    held.push(socket);
    socket.on("error", () => {}).resume();
  });
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  onTestFinished(() => {
    for (const socket of held) socket.destroy();
    server.close();
  });
  const { port } = server.address() as AddressInfo;
  const opening = s3Media({
    bucket: "pictures",
    prefix: "",
    endpoint: `http://127.0.0.1:${port}`,
    region: "us-east-1",
    pathStyle: true,
    credentials: { accessKeyId: "a", secretAccessKey: "b" },
    address: { by: "presigned" },
    ttlMs: hour,
    maxBytes: 1,
    log: silent,
    patience: { connectMs: 1000, answerMs: 20 },
  });
  await expect(opening).rejects.toThrow(
    "media.s3.bucket: pictures can't be used (no answer in time (ETIMEDOUT))",
  );
  expect(held.length).toBeGreaterThan(0);
});

test("a start that waits for a bucket says so, and no more once it has its answer", async () => {
  const clock = new FakeClock();
  const said: object[] = [];
  const warn = (fields: object, msg: string) => void said.push({ ...fields, msg });
  const server = createHttpServer();
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  onTestFinished(() => void server.close().closeAllConnections());
  const settings: S3Settings = {
    ...{ bucket: "pictures", prefix: "", region: "us-east-1", pathStyle: true },
    endpoint: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    credentials: { accessKeyId: "a", secretAccessKey: "b" },
    address: { by: "presigned" },
    ...{ ttlMs: hour, maxBytes: 1, log: { ...silent, warn }, clock },
  };
  const asked = once(server, "request");
  const opening = s3Media(settings);
  const [, response] = (await asked) as [unknown, ServerResponse];
  await clock.advance(4999);
  expect(said).toEqual([]);
  await clock.advance(1);
  const waits = "the start waits for the bucket of images";
  expect(said).toEqual([{ store: "images", bucket: "pictures", msg: waits }]);
  response.end("<ListBucketResult></ListBucketResult>");
  const store = await opening;
  onTestFinished(() => store.close());
  server.on("request", (_, next) => next.end("<ListBucketResult></ListBucketResult>"));
  const prompt = await s3Media(settings);
  onTestFinished(() => prompt.close());
  await clock.advance(60_000);
  expect(said).toHaveLength(1);
});

test("a bucket of another region is an error at the start that names the region", async () => {
  const server = createHttpServer((_, response) =>
    response
      .writeHead(301, { "x-amz-bucket-region": "eu-central-1", "content-type": "application/xml" })
      .end("<Error><Code>PermanentRedirect</Code><Message>elsewhere</Message></Error>"),
  );
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  onTestFinished(() => void server.close().closeAllConnections());
  const opening = s3Media({
    ...{ bucket: "pictures", prefix: "", region: "us-east-1", pathStyle: true },
    endpoint: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    credentials: { accessKeyId: "a", secretAccessKey: "b" },
    address: { by: "presigned" },
    ...{ ttlMs: hour, maxBytes: 1, log: silent },
  });
  await expect(opening).rejects.toThrow(
    "media.s3.bucket: pictures can't be used (status 301, PermanentRedirect: elsewhere, media.s3.region should be eu-central-1)",
  );
});

test.each(["a#b/", "a?b/", "a%20b/", "a b/ü/", "plain/"])(
  "a public address leads to what was put under the prefix %s",
  async (prefix) => {
    const { endpoint } = await scriptedS3(new Map());
    const store = await s3Media({
      ...{ bucket: "pictures", prefix, endpoint, region: "us-east-1", pathStyle: true },
      credentials: { accessKeyId: "a", secretAccessKey: "b" },
      address: { by: "public", baseUrl: "https://cdn.example.com" },
      ...{ ttlMs: hour, maxBytes: 1000, log: silent },
    });
    onTestFinished(() => store.close());
    const address = new URL(await store.put(Buffer.from("x")));
    expect(address.search + address.hash).toBe("");
    const name = address.href.slice(-36);
    expect(name).toMatch(/^[0-9a-f]{32}\.png$/);
    expect(decodeURIComponent(address.pathname)).toBe(`/${prefix}${name}`);
  },
);

test.each([
  [1500, "1", "1"],
  [2 * hour + 999, "7200", "7200"],
  [10 * 24 * hour, "864000", "604800"],
  [500, "0", "1"],
])(
  "an object is put with its type and the time that it is kept, and its address is signed for that: %d ms",
  async (ttlMs, kept, signed) => {
    const { endpoint, put } = await scriptedS3(new Map());
    const store = await s3Media({
      ...{ bucket: "pictures", prefix: "made/", endpoint, region: "us-east-1", pathStyle: true },
      credentials: { accessKeyId: "a", secretAccessKey: "b" },
      address: { by: "presigned" },
      ...{ ttlMs, maxBytes: 1000, log: silent },
    });
    onTestFinished(() => store.close());
    const address = new URL(await store.put(Buffer.from("x")));
    expect(put).toMatchObject([
      { "content-type": "image/png", "cache-control": `private, max-age=${kept}, immutable` },
    ]);
    expect(address.pathname).toMatch(/^\/pictures\/made\/[0-9a-f]{32}\.png$/);
    expect(address.searchParams.get("X-Amz-Expires")).toBe(signed);
  },
);

test("an image that is too old is none, swept or not", async () => {
  const stored = Date.UTC(2030, 0, 1);
  const server = createHttpServer(({ method, url }, response) => {
    if (url?.includes("list-type")) return response.end("<ListBucketResult></ListBucketResult>");
    const headers = { "content-length": 7, "last-modified": new Date(stored).toUTCString() };
    return response.writeHead(200, headers).end(method === "GET" ? "picture" : undefined);
  });
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  onTestFinished(() => void server.close().closeAllConnections());
  let now = stored + hour - 1;
  const store = await s3Media({
    ...{ bucket: "pictures", prefix: "", region: "us-east-1", pathStyle: true },
    endpoint: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    credentials: { accessKeyId: "a", secretAccessKey: "b" },
    address: { by: "gateway", baseUrl: () => "http://gateway" },
    ...{ ttlMs: hour, maxBytes: 1000, log: silent, now: () => now },
  });
  onTestFinished(() => store.close());
  const name = `${"0".repeat(32)}.png`;
  expect(String(await bytesOf(store, name))).toBe("picture");
  now++;
  expect(await store.get(name)).toBeUndefined();
});

test("an image that goes before it is read is none, which says nothing of the bucket", async () => {
  const server = createHttpServer(({ method, url }, response) => {
    if (url?.includes("list-type")) return response.end("<ListBucketResult></ListBucketResult>");
    if (method === "HEAD") {
      const headers = { "content-length": 7, "last-modified": new Date().toUTCString() };
      return response.writeHead(200, headers).end();
    }
    const gone = "<Error><Code>NoSuchKey</Code><Message>It is gone.</Message></Error>";
    return response.writeHead(404, { "content-type": "application/xml" }).end(gone);
  });
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  onTestFinished(() => void server.close().closeAllConnections());
  const warned: object[] = [];
  const store = await s3Media({
    ...{ bucket: "pictures", prefix: "", region: "us-east-1", pathStyle: true },
    endpoint: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    credentials: { accessKeyId: "a", secretAccessKey: "b" },
    address: { by: "gateway", baseUrl: () => "http://gateway" },
    ...{ ttlMs: hour, maxBytes: 1000 },
    log: { ...silent, warn: (fields) => warned.push(fields) },
  });
  onTestFinished(() => store.close());
  await expect(bytesOf(store, `${"0".repeat(32)}.png`)).rejects.toMatchObject({
    code: "not_found",
    message: "no such image",
  });
  expect(store.state).toMatchObject({ away: false, outages: 0 });
  expect(warned).toEqual([]);
});

describe.runIf(versitygw)("S3", () => {
  let server: S3Server;
  const opened: S3Media[] = [];
  beforeAll(async () => {
    server = await startS3();
  });
  afterEach(async () => {
    for (const store of opened.splice(0)) await store.close();
    rmSync(join(server.directory, "made"), { recursive: true, force: true });
  });
  afterAll(() => server.close());

  async function open(settings: Partial<S3Settings> = {}): Promise<S3Media> {
    const { endpoint, bucket, accessKeyId, secretAccessKey } = server;
    const store = await s3Media({
      bucket,
      prefix: "made/",
      endpoint,
      region: "us-east-1",
      pathStyle: true,
      credentials: { accessKeyId, secretAccessKey },
      address: { by: "presigned" },
      ttlMs: 24 * hour,
      maxBytes: 10_000,
      log: silent,
      ...settings,
    });
    opened.push(store);
    return store;
  }

  storeContract("S3", open);

  test("a signed address is good for who has no key, with its type and how long to keep it", async () => {
    const store = await open();
    const url = await store.put(Buffer.from("picture"));
    const response = await fetch(url);
    expect(response.status).toBe(200);
    expect(await response.text()).toBe("picture");
    expect(response.headers.get("content-type")).toBe("image/png");
    expect(response.headers.get("cache-control")).toBe("private, max-age=86400, immutable");
    expect((await fetch(url.replace(/\?.*/, ""))).status).toBe(403);
    expect((await fetch(url.replace(nameIn(url), `${"0".repeat(32)}.png`))).status).toBe(403);
  });

  test("a signature lives as long as the image, and never longer than S3 allows", async () => {
    const expires = async (ttlMs: number) => {
      const url = await (await open({ ttlMs })).put(Buffer.from("x"));
      return new URL(url).searchParams.get("X-Amz-Expires");
    };
    expect(await expires(2 * hour)).toBe("7200");
    expect(await expires(1000 * 24 * hour)).toBe("604800");
  });

  test("addresses can be public ones, or the gateway's", async () => {
    const pub = await open({ address: { by: "public", baseUrl: "https://cdn.example.com" } });
    const url = await pub.put(Buffer.from("x"));
    expect(url).toMatch(/^https:\/\/cdn\.example\.com\/made\/[0-9a-f]{32}\.png$/);
    const own = await open({ address: { by: "gateway", baseUrl: () => "https://ai.example.com" } });
    const mine = await own.put(Buffer.from("y"));
    expect(mine).toMatch(/^https:\/\/ai\.example\.com\/media\/[0-9a-f]{32}\.png$/);
    expect(String(await bytesOf(own, nameIn(mine)))).toBe("y");
    // A caller who came through a proxy is told the proxy's address, but a bucket stays where it is.
    const proxy = "https://proxy.example.com";
    expect(await own.put(Buffer.from("z"), proxy)).toMatch(`${proxy}/media/`);
    expect(await pub.put(Buffer.from("z"), proxy)).toMatch("https://cdn.example.com/");
  });

  test("an image is gone once it is too old; what is not ours stays", async () => {
    let now = Date.now();
    const store = await open({ ttlMs: 2 * hour, now: () => now });
    const name = nameIn(await store.put(Buffer.from("x")));
    writeFileSync(join(server.directory, "made", "notes.txt"), "mine");
    utimesSync(join(server.directory, "made", "notes.txt"), 1, 1);
    now += hour;
    await store.sweep();
    expect(String(await bytesOf(store, name))).toBe("x");
    now += hour + 1000;
    expect(await store.get(name)).toBeUndefined();
    await store.sweep();
    expect(existsSync(join(server.directory, "made", name))).toBe(false);
    expect(existsSync(join(server.directory, "made", "notes.txt"))).toBe(true);
  });

  test("all together stay within the size", async () => {
    const store = await open({ maxBytes: 1000 });
    for (let i = 0; i < 8; i++) await store.put(Buffer.alloc(300));
    // One that runs already may have looked before the last image came.
    await store.sweep();
    await store.sweep();
    const files = readdirSync(join(server.directory, "made")).filter((it) => it.endsWith(".png"));
    expect(files.length).toBeGreaterThan(0);
    expect(files.length * 300).toBeLessThanOrEqual(1000);
  });

  test("a bucket that is not there is an error at the start that names the setting", async () => {
    await expect(open({ bucket: "absent" })).rejects.toThrow(
      "media.s3.bucket: absent can't be used (status 404, NoSuchBucket: ",
    );
  });

  test("a store that went away is an error without its address", async () => {
    const other = await startS3();
    const store = await open({
      endpoint: other.endpoint,
      credentials: { accessKeyId: other.accessKeyId, secretAccessKey: other.secretAccessKey },
    });
    await store.sweep();
    await other.close();
    await expect(store.put(Buffer.from("x"))).rejects.toMatchObject({
      code: "unavailable",
      message: "the image could not be stored",
    });
  });
});
