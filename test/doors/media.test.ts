import { once } from "node:events";
import { connect, constants } from "node:http2";
import { Readable } from "node:stream";
import { describe, expect, onTestFinished, test } from "vitest";
import { silent } from "../../src/core/log.js";
import { type MediaStore, noImage } from "../../src/core/media.js";
import { startLintel } from "../support/lintel.js";
import { paints, png, scripted } from "../support/scripted.js";
import { json, serve } from "./serve.js";

describe("stored images", () => {
  async function generated() {
    const server = await serve(scripted({ streamTextToImage: paints() }));
    const answer = await server.post("/text-to-image", { prompt: "a cat", seed: 7 });
    const { pathname } = new URL((await json(answer)).images[0].url);
    return { server, pathname };
  }

  test("are fetched without a token, with the headers that browsers need", async () => {
    const { server, pathname } = await generated();
    const response = await fetch(server.url + pathname);
    expect(response.status).toBe(200);
    expect(Object.fromEntries(response.headers)).toMatchObject({
      "content-type": "image/png",
      "x-content-type-options": "nosniff",
      // The styles are for the pages that browsers make around an image.
      "content-security-policy": "default-src 'none'; style-src 'unsafe-inline'; sandbox",
      "access-control-allow-origin": "*",
      "access-control-expose-headers": expect.stringContaining("x-request-id"),
      "cache-control": expect.stringMatching(/^private, max-age=86(399|400), immutable$/),
      "x-request-id": expect.any(String),
    });
    expect(Buffer.from(await response.arrayBuffer())).toEqual(png(7));
  });

  test("HEAD has the same headers and no body", async () => {
    const { server, pathname } = await generated();
    const response = await fetch(server.url + pathname, { method: "HEAD" });
    expect(response.status).toBe(200);
    expect(response.headers.get("content-length")).toBe(String(png(7).length));
    expect(await response.text()).toBe("");
  });

  test("parts can be asked for, and only as long as it is the same image", async () => {
    const { server, pathname } = await generated();
    const get = (headers: Record<string, string>) => fetch(server.url + pathname, { headers });
    const size = png(7).length;
    const part = await get({ range: "bytes=2-5" });
    expect(part.status).toBe(206);
    expect(part.headers.get("content-range")).toBe(`bytes 2-5/${size}`);
    expect(part.headers.get("content-length")).toBe("4");
    expect(Buffer.from(await part.arrayBuffer())).toEqual(png(7).subarray(2, 6));
    const end = await get({ range: "bytes=-3", "if-range": part.headers.get("etag") ?? "" });
    expect(end.status).toBe(206);
    expect(Buffer.from(await end.arrayBuffer())).toEqual(png(7).subarray(-3));
    for (const headers of [
      { range: "bytes=0-1,4-5" },
      { range: "lines=1-2" },
      { range: "bytes=x" },
      { range: "bytes=-" },
      { range: "bytes=5-2" },
      { range: "bytes=0-1", "if-range": '"another"' },
    ]) {
      const whole = await get(headers as Record<string, string>);
      expect(whole.status).toBe(200);
      expect(Buffer.from(await whole.arrayBuffer())).toEqual(png(7));
    }
    for (const range of ["bytes=0-99999", "bytes=-99999", `BYTES=-${size}`]) {
      const all = await get({ range });
      expect(all.status).toBe(206);
      expect(all.headers.get("content-range")).toBe(`bytes 0-${size - 1}/${size}`);
      expect(Buffer.from(await all.arrayBuffer())).toEqual(png(7));
    }
    expect((await get({ range: "bytes=-0" })).status).toBe(416);
    const outside = await get({ range: `bytes=${size}-` });
    expect(outside.status).toBe(416);
    expect(outside.headers.get("content-range")).toBe(`bytes */${size}`);
    expect(outside.headers.get("cache-control")).toBe("no-store");
    expect(outside.headers.get("etag")).toBeNull();
    expect((await json(outside)).error.code).toBe("range_not_satisfiable");
  });

  test("who has it already gets no second copy", async () => {
    const { server, pathname } = await generated();
    const etag = (await fetch(server.url + pathname)).headers.get("etag") ?? "";
    expect(etag).toMatch(/^"[0-9a-f]{32}\.png"$/);
    const again = await fetch(server.url + pathname, {
      headers: { "if-none-match": `"x", ${etag}` },
    });
    expect(again.status).toBe(304);
    expect(await again.text()).toBe("");
    const headers = { "if-none-match": etag };
    expect((await fetch(server.url + pathname, { method: "HEAD", headers })).status).toBe(304);
  });

  test.each([
    "/media/00000000000000000000000000000099.png",
    "/media/x.png",
    "/media/..%2f..%2fetc%2fpasswd",
    "/media/%2e%2e",
    "/media/0000000000000000000000000000000%00.png",
    "/media/.hidden-name-that-is-long-enough",
    "/media/",
  ])("%s is a 404 in JSON", async (path) => {
    const { server } = await generated();
    const response = await fetch(server.url + path);
    expect(response.status).toBe(404);
    expect((await json(response)).error.code).toBe("not_found");
  });

  test("who may read an image may read why there is none, whatever origins are let in", async () => {
    const lintel = await startLintel([scripted({})], {
      appSettings: { corsOrigins: ["https://a.example"] },
    });
    onTestFinished(() => lintel.close());
    const answer = await fetch(`${lintel.url}/media/00000000000000000000000000000099.png`, {
      headers: { origin: "https://b.example" },
    });
    expect(answer.status).toBe(404);
    expect(answer.headers.get("access-control-allow-origin")).toBe("*");
    expect(answer.headers.get("access-control-expose-headers")).toContain("x-request-id");
  });

  test("names that no store makes do not reach it", async () => {
    const asked: string[] = [];
    const store = {
      put: async () => "",
      get: async (name: string) => {
        asked.push(name);
        return undefined;
      },
      delete: async () => {},
      close: async () => {},
    };
    const server = await serve(scripted({}), { parts: { media: store } });
    const good = "00000000000000000000000000000001.png";
    const bad = [
      "..%2f..%2fetc%2fpasswd",
      ".hidden-name-that-is-long-enough",
      `${good}%00`,
      "short",
    ];
    for (const name of [...bad, good]) await fetch(`${server.url}/media/${name}`);
    expect(asked).toEqual([good]);
  });

  test.each<Record<string, string>>([{}, { range: "bytes=2-5" }])(
    "an image that was found and then can't be read is a 500 that nobody keeps, %j",
    async (asked) => {
      const failing = storeOf(async () => ({
        ...found(),
        read: () =>
          new Readable({
            read() {
              this.destroy(new Error("EIO /secret/path"));
            },
          }),
      }));
      const server = await serve(scripted({}), { parts: { media: failing } });
      const address = `${server.url}/media/00000000000000000000000000000001.png`;
      const response = await fetch(address, { headers: asked });
      expect(response.status).toBe(500);
      expect(response.headers.get("cache-control")).toBe("no-store");
      for (const name of ["etag", "content-range"]) expect(response.headers.get(name)).toBeNull();
      expect(response.headers.get("content-type")).toMatch(/json/);
      expect(await response.text()).not.toMatch("secret");
    },
  );

  test("an image that is gone before its first byte is a 404, and nothing for the log", async () => {
    const going = storeOf(async () => ({
      ...found(),
      read: () =>
        new Readable({
          read() {
            this.destroy(noImage());
          },
        }),
    }));
    const said: string[] = [];
    const log = { ...silent, error: (_: object, words: string) => said.push(words) };
    const server = await serve(scripted({}), { parts: { media: going, log } });
    const response = await fetch(`${server.url}/media/00000000000000000000000000000001.png`);
    expect([response.status, response.headers.get("cache-control")]).toEqual([404, "no-store"]);
    expect((await json(response)).error).toMatchObject({ code: "not_found" });
    expect(said).toEqual([]);
  });

  test.each([
    ["HEAD", "HEAD", {}, 200],
    ["a range outside of it", "GET", { range: "bytes=100-" }, 416],
    ["one that the client has", "GET", { "if-none-match": "*" }, 304],
  ])("an image that is not read is closed: %s", async (_, method, headers, status) => {
    let closed = 0;
    const unread = storeOf(async () => ({
      ...found(),
      close: async () => {
        closed++;
      },
    }));
    const server = await serve(scripted({}), { parts: { media: unread } });
    const address = `${server.url}/media/00000000000000000000000000000001.png`;
    const asked = headers as Record<string, string>;
    const response = await fetch(address, { method, headers: asked });
    expect(response.status).toBe(status);
    await response.text();
    expect(closed).toBe(1);
  });

  test("an image that is found for who has left is closed, in a pipeline too", async () => {
    const images = [1, 2].map(() => new Readable({ read() {} }));
    const closed = images.map((image) => once(image, "close"));
    let find = () => {};
    const waiting: Promise<unknown>[] = [
      Promise.resolve(),
      new Promise<void>((resolve) => {
        find = resolve;
      }),
    ];
    const left = [...images];
    const slow = storeOf(async () => {
      const image = left.shift() as Readable;
      await waiting.shift();
      return { ...found(), read: () => image, close: async () => void image.destroy() };
    });
    const server = await serve(scripted({}), { parts: { media: slow } });
    const path = "/media/00000000000000000000000000000001.png";
    const socket = server.socket(`GET ${path} HTTP/1.1\r\nhost: x\r\n\r\n`.repeat(2));
    await expect.poll(() => waiting.length).toBe(0);
    socket.destroy();
    // With the first the connection's end is known.
    await closed[0];
    find();
    await closed[1];
  });

  test("an image that is found for who has reset its stream is closed", async () => {
    let ask = () => {};
    let find = () => {};
    let closed = () => {};
    const isAsked = new Promise<void>((resolve) => {
      ask = resolve;
    });
    const isFound = new Promise<void>((resolve) => {
      find = resolve;
    });
    const isClosed = new Promise<void>((resolve) => {
      closed = resolve;
    });
    const slow = storeOf(async () => {
      ask();
      await isFound;
      const read = () => new Readable({ read() {} }).once("close", closed);
      return { ...found(), read, close: async () => closed() };
    });
    const server = await serve(scripted({}), { parts: { media: slow } });
    const client = connect(server.url);
    onTestFinished(() => client.destroy());
    const stream = client.request({ ":path": "/media/00000000000000000000000000000001.png" });
    // Before that, a request is not worked on that is reset.
    await isAsked;
    stream.close(constants.NGHTTP2_CANCEL);
    await once(stream, "close");
    // An answer on the same connection comes after the reset.
    await once(client.request({ ":path": "/nowhere" }), "response");
    find();
    await isClosed;
  });

  test("a store that fails is a 500 that tells nothing", async () => {
    const broken = storeOf(() => Promise.reject(new Error("EIO /secret/path")));
    const server = await serve(scripted({}), { parts: { media: broken } });
    const response = await fetch(`${server.url}/media/00000000000000000000000000000001.png`);
    expect(response.status).toBe(500);
    expect(await response.text()).not.toMatch("secret");
  });
});

/** A store that finds whatever it is asked for. */
const storeOf = (get: MediaStore["get"]): MediaStore => ({
  put: async () => "",
  get,
  delete: async () => {},
  close: async () => {},
});

/** What is found: an image of a size, without its bytes. */
const found = () => ({
  mimeType: "image/png",
  size: 100,
  expiresAt: Date.now() + 86_400_000,
  read: () => Readable.from([]),
  close: async () => {},
});
