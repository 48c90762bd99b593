/** Buckets that fail: what callers and the log hear, and that images are kept again afterwards. */
import { readFileSync } from "node:fs";
import { createServer, type IncomingMessage, request, type ServerResponse } from "node:http";
import { createServer as createSecureServer } from "node:https";
import { type AddressInfo, createServer as createPlainServer } from "node:net";
import { fileURLToPath } from "node:url";
import { afterAll, beforeAll, describe, expect, onTestFinished, test } from "vitest";
import type { Logger } from "../../src/core/log.js";
import { type S3Settings, s3Media } from "../../src/media/s3.js";
import { FakeClock } from "../support/clock.js";
import { bytesOf, nameIn } from "./contract.js";
import { scriptedS3 } from "./s3-scripted.js";
import { type S3Server, startS3, versitygw } from "./s3-server.js";

/** What stands between, and what it does instead of passing on what it is asked. */
type Mood = "passes" | "hangs" | "stalls" | "breaks" | readonly [status: number, code: string];

const listen = (server: { listen(port: number, host: string, done: () => void): void }) =>
  new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));

const answered = (code: string) =>
  `<?xml version="1.0"?><Error><Code>${code}</Code><Message>As it is.</Message><AWSAccessKeyId>lintel-test</AWSAccessKeyId></Error>`;

/** Passes requests on to a store, or does as it is told. */
class Between {
  mood: Mood = "passes";
  asked = 0;
  port = 0;

  static async start(endpoint: string): Promise<Between> {
    const between = new Between();
    const server = createServer((asked, answer) => between.#take(endpoint, asked, answer));
    await listen(server);
    between.port = (server.address() as AddressInfo).port;
    onTestFinished(() => {
      server.closeAllConnections();
      server.close();
    });
    return between;
  }

  #take(endpoint: string, asked: IncomingMessage, answer: ServerResponse): void {
    this.asked++;
    const { mood } = this;
    if (mood === "hangs") return;
    if (typeof mood === "object") {
      const [status, code] = mood;
      asked.resume();
      answer.writeHead(status, { "x-amz-bucket-region": "eu-west-1" });
      answer.end(asked.method === "HEAD" ? undefined : answered(code));
      return;
    }
    const { method = "GET", url, headers } = asked;
    const passed = request(`${endpoint}${url}`, { method, headers }, (got) => {
      answer.writeHead(got.statusCode ?? 500, got.headers);
      if (mood === "passes" || method !== "GET") got.pipe(answer);
      else {
        got.resume();
        answer.write("pic", () => {
          if (mood === "breaks") answer.destroy();
        });
      }
    });
    passed.on("error", () => answer.destroy());
    asked.pipe(passed);
  }
}

const settings = {
  ...{ bucket: "pictures", prefix: "made/", region: "us-east-1", pathStyle: true },
  address: { by: "gateway", baseUrl: () => "http://gateway" },
  ...{ ttlMs: 3_600_000, maxBytes: 10_000 },
} as const;

/** For a store that says nothing. */
const impatient = { patience: { connectMs: 5000, answerMs: 1000 } };

/** What the log hears. */
function listening() {
  const said: string[] = [];
  const say = (fields: object, text: string) =>
    void said.push(`${text} ${JSON.stringify({ ...fields, err: String(Object(fields).err) })}`);
  const log: Logger = { debug() {}, info: say, warn: say, error: say };
  return { said, log };
}

const file = (name: string) =>
  fileURLToPath(new URL(`../fixtures/tls/${name}.pem`, import.meta.url));

test("a start says what is in the way", async () => {
  const gone = createPlainServer();
  await listen(gone);
  const { port } = gone.address() as AddressInfo;
  await new Promise((resolve) => gone.close(resolve));
  const secure = createSecureServer({
    cert: readFileSync(file("cert")),
    key: readFileSync(file("key")),
  });
  await listen(secure);
  onTestFinished(() => void secure.close());
  const { log } = listening();
  const reason = (more: Partial<S3Settings>) =>
    s3Media({
      ...settings,
      credentials: { accessKeyId: "a", secretAccessKey: "b" },
      log,
      // A machine whose name server is slow takes its time to say that there is no such host.
      patience: { connectMs: 60_000, answerMs: 60_000 },
      ...more,
    }).then(
      () => "open",
      (error: Error) => error.message,
    );
  expect(await reason({ endpoint: `http://127.0.0.1:${port}` })).toContain("ECONNREFUSED");
  expect(await reason({ endpoint: "http://gone.invalid" })).toMatch(/ENOTFOUND|EAI_AGAIN/);
  const unknown = `https://127.0.0.1:${(secure.address() as AddressInfo).port}`;
  expect(await reason({ endpoint: unknown })).toContain("self-signed certificate");
  // The bucket stands in the name.
  const named = await reason({ endpoint: "http://gone.invalid", pathStyle: false });
  expect(named).toMatch(/^media\.s3\.bucket: pictures can't be used \(.*pictures\.gone\.invalid/);
});

test("a bucket that breaks off in the middle of an image is away, until it is not", async () => {
  const moods = ["breaks", "passes"];
  const { endpoint } = await scriptedS3(new Map(), undefined, undefined, (answer) => {
    if (moods.shift() === "passes") answer.end("picture");
    else answer.write("pic", () => answer.destroy());
  });
  const { said, log } = listening();
  const store = await s3Media({
    ...{ ...settings, endpoint, log, now: () => Date.UTC(2030, 0, 1) },
    credentials: { accessKeyId: "a", secretAccessKey: "b" },
  });
  onTestFinished(() => store.close());
  const name = nameIn(await store.put(Buffer.from("picture")));
  await expect(bytesOf(store, name)).rejects.toMatchObject({
    code: "unavailable",
    message: "the image could not be read",
  });
  expect(store.state).toMatchObject({ away: true, outages: 1 });
  expect(String(await bytesOf(store, name))).toBe("picture");
  expect(store.state).toMatchObject({ away: false });
  expect(said.filter((line) => line.startsWith("the bucket"))).toHaveLength(2);
});

describe.runIf(versitygw)("a bucket", () => {
  let server: S3Server;
  beforeAll(async () => {
    server = await startS3();
  });
  afterAll(() => server.close());

  async function opened(more: Partial<S3Settings> = {}) {
    const between = await Between.start(server.endpoint);
    const { said, log } = listening();
    const { accessKeyId, secretAccessKey } = server;
    const store = await s3Media({
      ...settings,
      endpoint: `http://127.0.0.1:${between.port}`,
      credentials: { accessKeyId, secretAccessKey },
      log,
      ...more,
    });
    onTestFinished(() => store.close());
    // The first one runs meanwhile.
    await store.sweep();
    return { between, store, said };
  }

  test.each<[mood: Mood, code: string, reason: string]>([
    ["hangs", "unavailable", "no answer in time"],
    [[500, "InternalError"], "unavailable", "status 500, InternalError: As it is."],
    [[503, "SlowDown"], "unavailable", "status 503, SlowDown: As it is."],
    [[403, "InvalidAccessKeyId"], "internal", "status 403, InvalidAccessKeyId: As it is."],
    [[403, "RequestTimeTooSkewed"], "internal", "status 403, RequestTimeTooSkewed: As it is."],
    [[404, "NoSuchBucket"], "internal", "status 404, NoSuchBucket: As it is."],
    [
      [301, "PermanentRedirect"],
      "internal",
      "status 301, PermanentRedirect: As it is., media.s3.region should be eu-west-1",
    ],
  ])("that answers %j is away until it does not", async (mood, code, reason) => {
    const { between, store, said } = await opened(mood === "hangs" ? impatient : {});
    const kept = nameIn(await store.put(Buffer.from("picture")));
    between.mood = mood;
    for (let i = 0; i < 2; i++) {
      await expect(store.put(Buffer.from("x"))).rejects.toMatchObject({
        code,
        message: "the image could not be stored",
      });
    }
    if (!reason.includes("404")) {
      await expect(store.get(kept)).rejects.toMatchObject({
        code,
        message: "the image could not be read",
      });
    }
    await store.sweep();
    expect(store.state).toMatchObject({ away: true, outages: 1 });
    between.mood = "passes";
    expect(String(await bytesOf(store, kept))).toBe("picture");
    expect(store.state).toMatchObject({ away: false, outages: 1 });
    expect(said.filter((line) => line.startsWith("the bucket"))).toEqual([
      expect.stringContaining(`the bucket of images is away {"store":"images","reason":"${reason}`),
      expect.stringContaining("the bucket of images is back"),
    ]);
    expect(said.filter((line) => line.includes("swept"))).toHaveLength(1);
    expect(said.join()).not.toMatch(/lintel-test|127\.0\.0\.1|node:|\.js:/);
  });

  test("that is away is asked for nothing once the store is closed", async () => {
    const clock = new FakeClock();
    const { between, store } = await opened({ clock });
    between.mood = [503, "SlowDown"];
    await expect(store.put(Buffer.from("x"))).rejects.toMatchObject({ code: "unavailable" });
    expect(clock.timers).toBe(1);
    await store.close();
    expect(clock.timers).toBe(0);
  });

  test("that can't be listed is away", async () => {
    const { between, store } = await opened();
    between.mood = [503, "SlowDown"];
    await store.sweep();
    expect(store.state).toMatchObject({ away: true, outages: 1 });
  });

  test("that is there again is known without a request", async () => {
    const clock = new FakeClock();
    const { between, store, said } = await opened({ clock });
    between.mood = [503, "SlowDown"];
    await expect(store.put(Buffer.from("x"))).rejects.toMatchObject({ code: "unavailable" });
    expect(clock.timers).toBe(1);
    await clock.advance(1000);
    // It is asked again once that question has failed as well.
    await expect.poll(() => clock.timers).toBe(1);
    expect(store.state).toMatchObject({ away: true, outages: 1 });
    between.mood = "passes";
    await clock.advance(2000);
    await expect.poll(() => store.state?.away).toBe(false);
    expect(clock.timers).toBe(0);
    expect(said.filter((line) => line.startsWith("the bucket"))).toHaveLength(2);
  });

  test("that refuses a key is not asked anew until somebody wants something of it", async () => {
    const clock = new FakeClock();
    const { between, store } = await opened({ clock });
    between.mood = [403, "AccessDenied"];
    await expect(store.put(Buffer.from("x"))).rejects.toMatchObject({ code: "internal" });
    expect(store.state).toMatchObject({ away: true });
    expect(clock.timers).toBe(0);
  });

  test("whose trouble is another one is told of again, once a minute at most", async () => {
    const clock = new FakeClock();
    const { between, store, said } = await opened({ clock });
    const fails = async (mood: Mood) => {
      between.mood = mood;
      await store.put(Buffer.from("x")).catch(() => {});
    };
    const told = () =>
      said.flatMap((line) => /^the bucket.*"reason":"status (\d+)/.exec(line)?.[1] ?? []);
    await fails([403, "AccessDenied"]);
    await fails([404, "NoSuchBucket"]);
    expect(told()).toEqual(["403"]);
    await clock.advance(60_000);
    await fails([403, "AccessDenied"]);
    expect(told()).toEqual(["403"]);
    await fails([404, "NoSuchBucket"]);
    expect(told()).toEqual(["403", "404"]);
    expect(store.state).toMatchObject({ away: true, outages: 1 });
  });

  test("that fails every other request does not fill the log", async () => {
    const clock = new FakeClock();
    const { between, store, said } = await opened({ clock });
    const told = () =>
      said.flatMap((line) => /^the bucket of images is (\w+)/.exec(line)?.[1] ?? []);
    const fails = async () => {
      between.mood = [500, "InternalError"];
      await store.put(Buffer.from("x")).catch(() => {});
    };
    const works = async () => {
      between.mood = "passes";
      await store.put(Buffer.from("x"));
    };
    for (let i = 0; i < 3; i++) {
      await fails();
      expect(store.state).toMatchObject({ away: true, outages: i + 1 });
      await works();
      expect(store.state).toMatchObject({ away: false });
    }
    expect(told()).toEqual(["away", "back"]);
    // One that lasts is told of, also if it began right after another one.
    await fails();
    await clock.advance(60_000);
    await fails();
    await expect.poll(() => clock.timers).toBe(1);
    expect(told()).toEqual(["away", "back", "away"]);
    await works();
    expect(told()).toEqual(["away", "back", "away", "back"]);
  });

  test.each(["stalls", "breaks"] as const)("that %s in the middle of an image", async (mood) => {
    const { between, store } = await opened(impatient);
    const name = nameIn(await store.put(Buffer.from("picture")));
    between.mood = mood;
    await expect(bytesOf(store, name)).rejects.toMatchObject({
      code: "unavailable",
      message: "the image could not be read",
    });
    expect(store.state).toMatchObject({ away: true, outages: 1 });
    between.mood = "passes";
    expect(String(await bytesOf(store, name))).toBe("picture");
    expect(store.state).toMatchObject({ away: false });
  });

  test("that does not take the key says so at the start", async () => {
    const { accessKeyId } = server;
    const wrong = opened({ credentials: { accessKeyId, secretAccessKey: "wrong-secret" } });
    await expect(wrong).rejects.toThrow(/status 403, SignatureDoesNotMatch/);
    await expect(wrong).rejects.not.toThrow(/wrong-secret/);
  });
});
