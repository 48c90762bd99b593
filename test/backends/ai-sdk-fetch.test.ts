/** What the `fetch` of AI SDK providers follows, and how much it reads. */
import { gzipSync } from "node:zlib";
import { Agent } from "undici";
import { describe, expect, it, onTestFinished } from "vitest";
import { guardedFetch } from "../../src/backends/ai-sdk/fetch.js";
import { Guard } from "../../src/backends/http/guard.js";
import { serve } from "./serve.js";
import type { Script } from "./upstream.js";

const mebi = 1024 * 1024;

/** The `fetch` of a provider at these origins, whose answers may have addresses of the allowed ones. */
function fetchOf(own: readonly string[], images = true, allow: readonly string[] = []) {
  const guard = new Guard({ own, allow });
  const dispatcher = new Agent();
  onTestFinished(async () => void (await Promise.all([guard.close(), dispatcher.destroy()])));
  return guardedFetch({ guard, connections: { current: dispatcher }, images });
}

describe("a redirect of what a provider gets", () => {
  /** Leads from /5 to /4, and so on; what is at /0 is there. */
  const countsDown =
    (status = 302): Script =>
    (exchange) => {
      const left = Number(exchange.request.path.slice(1));
      return left === 0
        ? exchange.send(200, {}, "here")
        : exchange.send(status, { location: `/${left - 1}` }, "");
    };

  it.each([301, 302, 303, 307, 308])("is followed: %d", async (status) => {
    const { url } = await serve(countsDown(status));
    expect(await (await fetchOf([url])(`${url}/1`)).text()).toBe("here");
  });

  it("is none without an address, nor with another status", async () => {
    const server = await serve((exchange) => exchange.send(302, {}, "nowhere"));
    server.route("/choices", (exchange) => exchange.send(300, { location: "/" }, "several"));
    const get = fetchOf([server.url]);
    expect((await get(`${server.url}/`)).status).toBe(302);
    expect((await get(`${server.url}/choices`)).status).toBe(300);
    expect(server.requests).toHaveLength(2);
  });

  it("is followed five times in a row, not six", async () => {
    const server = await serve(countsDown());
    const get = fetchOf([server.url]);
    expect((await get(`${server.url}/5`)).status).toBe(200);
    await expect(get(`${server.url}/6`)).rejects.toThrow("too many redirects");
    expect(server.requests.slice(6).map(({ path }) => path.slice(1))).toEqual([..."654321"]);
  });

  it("takes a key along within its origin, never to another one, nor back from there", async () => {
    const [first, other] = [await serve(countsDown()), await serve(countsDown())];
    first.route("/away", (exchange) => exchange.send(302, { location: `${other.url}/back` }, ""));
    other.route("/back", (exchange) => exchange.send(302, { location: `${first.url}/1` }, ""));
    const get = fetchOf([first.url, other.url]);
    const init = { headers: { authorization: "Key secret" } };
    const keys = () => first.requests.splice(0).map(({ headers }) => headers.authorization);
    expect((await get(`${first.url}/1`, init)).status).toBe(200);
    expect(keys()).toEqual(["Key secret", "Key secret"]);
    expect((await get(`${first.url}/away`, init)).status).toBe(200);
    expect(keys()).toEqual(["Key secret", undefined, undefined]);
    expect(other.requests[0]?.headers).not.toHaveProperty("authorization");
  });

  it("never leads to a private address, also where that is allowed by itself", async () => {
    const allowed = await serve((exchange) => exchange.send(200, {}, "private"));
    const location = `${allowed.url}/`;
    const server = await serve((exchange) => exchange.send(302, { location }, ""));
    const get = fetchOf([server.url], true, [allowed.url]);
    await expect(get(`${server.url}/`)).rejects.toThrow("may not be fetched");
    expect(allowed.requests).toEqual([]);
    expect(await (await get(location)).text()).toBe("private");
  });

  it("has a body that is not waited for", async () => {
    const server = await serve(countsDown());
    let gone: Promise<void> | undefined;
    server.route("/hangs", async (exchange) => {
      gone = exchange.gone;
      await exchange.head(302, { location: "/0" });
      await exchange.chunk("moved");
      await exchange.gone;
    });
    expect((await fetchOf([server.url])(`${server.url}/hangs`)).status).toBe(200);
    await gone;
  });
});

describe("what a provider posts", () => {
  it("follows no redirect, wherever that leads", async () => {
    const other = await serve((exchange) => exchange.send(200, {}, "taken"));
    const server = await serve((exchange) =>
      exchange.send(307, { location: `${other.url}/` }, "moved"),
    );
    const posted = await fetchOf([server.url, other.url])(server.url, {
      method: "post",
      body: "p",
    });
    expect([posted.status, await posted.text()]).toEqual([307, "moved"]);
    expect(other.requests).toEqual([]);
  });

  it("makes where it goes the provider's own, for what it gets then", async () => {
    const server = await serve((exchange) => exchange.send(200, {}, "here"));
    const send = fetchOf([]);
    await expect(send(server.url)).rejects.toThrow("may not be fetched");
    expect(server.requests).toEqual([]);
    await (await send(server.url, { method: "POST", body: "p" })).text();
    expect(await (await send(server.url)).text()).toBe("here");
  });
});

describe("an answer", () => {
  const json = "application/json";
  it.each([
    ["in JSON, of a chat", "POST", json, false, 32],
    ["in JSON, with images", "POST", json, true, 256],
    ["that is no JSON", "POST", "text/html", false, 256],
    ["that is an image", "GET", "image/png", true, 64],
  ])("%s (%s) is refused by the length it gives", async (_what, method, type, images, most) => {
    let gone: Promise<void> | undefined;
    const server = await serve(async (exchange) => {
      gone = exchange.gone;
      const length = most * mebi + (exchange.request.path === "/more" ? 1 : 0);
      await exchange.head(200, { "content-type": type, "content-length": String(length) });
      await exchange.gone;
    });
    const send = fetchOf([server.url], images);
    const { status, body } = await send(`${server.url}/most`, { method });
    expect(status).toBe(200);
    await body?.cancel();
    await expect(send(`${server.url}/more`, { method })).rejects.toMatchObject({
      code: "upstream_failed",
      message: expect.stringContaining("too large"),
    });
    // Nobody reads it: it is not left to come.
    await gone;
  });

  it("that is an image is refused by what it is once unpacked", async () => {
    const packed = (length: number) => gzipSync(Buffer.alloc(length));
    const [most, more] = [packed(64 * mebi), packed(64 * mebi + 1)];
    const server = await serve((exchange) =>
      exchange.send(
        200,
        { "content-encoding": "gzip" },
        exchange.request.path === "/more" ? more : most,
      ),
    );
    const get = fetchOf([server.url]);
    const whole = await (await get(`${server.url}/most`)).arrayBuffer();
    expect(whole.byteLength).toBe(64 * mebi);
    await expect((await get(`${server.url}/more`)).arrayBuffer()).rejects.toMatchObject({
      code: "upstream_failed",
      message: "the model server answered with an image that is too large",
    });
  });
});
