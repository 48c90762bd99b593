import type { LookupFunction } from "node:net";
import { setImmediate } from "node:timers/promises";
import { setFlagsFromString } from "node:v8";
import { runInNewContext } from "node:vm";
import { PNG } from "pngjs";
import sharp from "sharp";
import { describe, expect, it, onTestFinished } from "vitest";
import { isPublicAddress } from "../../src/backends/http/address-class.js";
import { allowPattern } from "../../src/backends/http/allow.js";
import { type FetchImageOptions, fetchImage } from "../../src/backends/http/fetch-image.js";
import { Guard } from "../../src/backends/http/guard.js";
import { asPng, bytesOfBase64 } from "../../src/backends/http/image.js";
import { previewPng } from "../../src/backends/http/preview.js";
import { LintelError } from "../../src/core/errors.js";
import { never } from "../support/calls.js";
import { picture, pixels as pixelsOf } from "./picture.js";
import { serve } from "./serve.js";
import type { Script } from "./upstream.js";

const png = (() => {
  const image = new PNG({ width: 2, height: 1 });
  image.data.set([255, 0, 0, 255, 0, 0, 255, 255]);
  return PNG.sync.write(image);
})();

const serves: Script = (exchange) => exchange.send(200, { "content-type": "image/png" }, png);
const redirectTo =
  (location: string): Script =>
  (exchange) =>
    exchange.send(302, { location }, "");

/** Options for a server of one's own; a lookup that nobody expects fails the test. */
function options(
  own: string,
  { allow = [], lookup, ...more }: Partial<FetchImageOptions> & Rules = {},
): FetchImageOptions {
  const nobody: LookupFunction = (hostname) => {
    throw new Error(`${hostname} was looked up`);
  };
  const guard = new Guard({ own: [own], allow, lookup: lookup ?? nobody });
  onTestFinished(() => guard.close());
  return { guard, base: own, ...more };
}

interface Rules {
  readonly allow?: readonly string[];
  readonly lookup?: LookupFunction;
}

/** A lookup that answers the same to everything, and counts. */
function answering(...addresses: string[]): LookupFunction & { asked: string[] } {
  const asked: string[] = [];
  const lookup: LookupFunction = (hostname, _options, callback) => {
    asked.push(hostname);
    callback(
      null,
      addresses.map((address) => ({ address, family: address.includes(":") ? 6 : 4 })),
    );
  };
  return Object.assign(lookup, { asked });
}

async function refusal(promise: Promise<unknown>): Promise<LintelError> {
  const error = await promise.then(
    () => "it was fetched",
    (thrown: unknown) => thrown,
  );
  expect(error).toBeInstanceOf(LintelError);
  expect((error as LintelError).message).not.toMatch(/127\.0|169\.254|localhost|example|:\d{4,5}/);
  return error as LintelError;
}

describe("an image of the server's own", () => {
  it("is fetched, private or not, by absolute and by relative addresses", async () => {
    const server = await serve(serves);
    for (const address of [`${server.url}/a.png`, "/a.png", "a.png"]) {
      const headers = { authorization: "Bearer secret" };
      const data = await fetchImage(address, options(server.url, { headers }), never);
      expect(Buffer.from(data)).toEqual(png);
    }
    for (const { path, headers } of server.requests) {
      expect(path).toBe("/a.png");
      expect(headers.authorization).toBe("Bearer secret");
    }
  });

  it.each([
    "data:image/png;base64,",
    "DATA:image/PNG;BASE64,",
    "data:image/png;name=a.png;base64,",
  ])("may be inside the address: %s", async (begin) => {
    const inline = `${begin}${png.toString("base64")}`;
    const data = await fetchImage(inline, options("http://127.0.0.1:9"), never);
    expect(Buffer.from(data)).toEqual(png);
  });

  it("may be behind a redirect of the server to itself", async () => {
    const server = await serve(serves);
    server.route("/first", redirectTo("/second"));
    const data = await fetchImage("/first", options(server.url), never);
    expect(Buffer.from(data)).toEqual(png);
    expect(server.requests.map(({ path }) => path)).toEqual(["/first", "/second"]);
  });
});

describe("the body of a redirect", () => {
  it("is not read: its connection is closed", async () => {
    const server = await serve(serves);
    let gone: Promise<void> | undefined;
    server.route("/first", async (exchange) => {
      gone = exchange.gone;
      await exchange.head(302, { location: "/second" });
      await exchange.chunk("moved");
      await exchange.gone;
    });
    const data = await fetchImage("/first", options(server.url), never);
    expect(Buffer.from(data)).toEqual(png);
    await gone;
  });
});

describe("an image elsewhere", () => {
  it("is not fetched", async () => {
    const [own, other] = [await serve(serves), await serve(serves)];
    for (const address of [
      `${other.url}/a.png`,
      "http://169.254.169.254/latest/meta-data/",
      "https://cdn.example.com/a.png",
      own.url.replace("127.0.0.1", "localhost"),
      own.url.replace("http://", "http://user:password@"),
      "file:///etc/passwd",
      "ftp://127.0.0.1/a.png",
      "http://",
      "data:text/html,hello",
    ]) {
      expect(await refusal(fetchImage(address, options(own.url), never))).toMatchObject({
        code: "upstream_failed",
      });
    }
    expect(other.requests).toEqual([]);
    expect(own.requests).toEqual([]);
  });

  it("is fetched from an origin that is allowed, without our token", async () => {
    const [own, other] = [await serve(serves), await serve(serves)];
    const rules = options(own.url, { allow: [other.url], headers: { authorization: "Bearer s" } });
    expect(Buffer.from(await fetchImage(`${other.url}/a.png`, rules, never))).toEqual(png);
    expect(other.requests[0]?.headers).not.toHaveProperty("authorization");
    const port = new URL(other.url).port;
    const wrong = options(own.url, { allow: [`https://127.0.0.1:${port}`] });
    await refusal(fetchImage(`${other.url}/a.png`, wrong, never));
  });

  it("may have an allowed name, over https at its usual port only", async () => {
    const { guard } = options("http://127.0.0.1:9", {
      allow: ["cdn.example.com", "*.Example.org"],
    });
    const admitted = (address: string) =>
      guard.admit(new URL(address), false).then(Boolean, () => false);
    expect(await admitted("https://cdn.example.com/a")).toBe(true);
    expect(await admitted("https://CDN.example.com:443/a")).toBe(true);
    expect(await admitted("https://a.b.example.org/a")).toBe(true);
    for (const address of [
      "http://cdn.example.com/a",
      "https://cdn.example.com:8443/a",
      "https://x.cdn.example.com/a",
      "https://cdn.example.com.evil.net/a",
      "https://example.org/a",
      "https://evilexample.org/a",
    ]) {
      expect(await admitted(address), address).toBe(false);
    }
  });
});

describe("private addresses", () => {
  it.each([
    "http://169.254.169.254/latest/meta-data/",
    "http://[fd00:ec2::254]/latest/meta-data/",
    "http://0x7f000001/",
    "https://allowed.example.com/",
  ])("are not what a redirect leads to: %s", async (location) => {
    const server = await serve(redirectTo(location));
    const lookup = answering("10.0.0.8");
    // Even where the operator allows the origin for direct use.
    const allow = [new URL(location).origin, "allowed.example.com"];
    await refusal(fetchImage("/a.png", options(server.url, { allow, lookup }), never));
    expect(server.requests).toHaveLength(1);
  });

  it("are not what a redirect to an allowed server on this machine leads to", async () => {
    const [own, other] = [await serve(serves), await serve(serves)];
    own.route("/a.png", redirectTo(`${other.url}/b.png`));
    await refusal(fetchImage("/a.png", options(own.url, { allow: [other.url] }), never));
    expect(other.requests).toEqual([]);
  });

  it.each([
    [["127.0.0.1"]],
    [["169.254.169.254"]],
    [["::1"]],
    [["::ffff:127.0.0.1"]],
    [["8.8.8.8", "127.0.0.1"]],
  ])("are not what an allowed name may become: %s", async (addresses) => {
    const lookup = answering(...addresses);
    const rules = options("http://127.0.0.1:9", { allow: ["cdn.example.com"], lookup });
    const error = await refusal(fetchImage("https://cdn.example.com/a.png", rules, never));
    expect(error.message).toContain("may not be fetched");
    // One lookup, whose answer is the one that counts: nothing to rebind in between.
    expect(lookup.asked).toEqual(["cdn.example.com"]);
  });

  it("are told from public ones", () => {
    for (const address of ["8.8.8.8", "1.1.1.1", "172.32.0.1", "2606:4700::1111"]) {
      expect(isPublicAddress(address), address).toBe(true);
    }
    for (const address of [
      ...["0.0.0.0", "10.1.2.3", "100.64.0.1", "127.9.9.9", "169.254.169.254", "172.31.255.255"],
      ...["192.168.0.1", "198.19.0.1", "224.0.0.1", "255.255.255.255", "192.0.0.8"],
      ...["::", "::1", "fe80::1", "fc00::1", "ff02::1", "::ffff:10.0.0.1", "::ffff:8.8.8.8"],
      ...["64:ff9b::a00:1", "2002:a00:1::", "2001:db8::1", "2001::1", "localhost", ""],
    ]) {
      expect(isPublicAddress(address), address).toBe(false);
    }
  });
});

describe("what comes back", () => {
  it("must be small enough, by what it says and by what it is", async () => {
    const server = await serve(serves);
    const large = Buffer.concat([png, Buffer.alloc(500)]);
    server.route("/said", (exchange) =>
      exchange.send(200, { "content-type": "image/png" }, Buffer.concat([png, large])),
    );
    server.route("/chunked", async (exchange) => {
      await exchange.head(200);
      // Without an end: only a reader that stops by itself comes back.
      for (let i = 0; i < 100; i++) await exchange.chunk(large);
      await exchange.gone;
    });
    for (const path of ["/said", "/chunked"]) {
      const error = await refusal(fetchImage(path, options(server.url, { limit: 600 }), never));
      expect(error.message).toContain("too large");
    }
  });

  it("may have 64 MiB, fetched or in base64", async () => {
    const most = 64 * 1024 * 1024;
    const server = await serve(async (exchange) => {
      await exchange.head(200, { "content-length": exchange.request.path.slice(1) });
      exchange.destroy();
    });
    const ofLength = (length: number) =>
      refusal(fetchImage(`/${length}`, options(server.url), never));
    expect((await ofLength(most)).message).toContain("could not be fetched");
    expect((await ofLength(most + 1)).message).toContain("too large");
    const base64 = "A".repeat(Math.ceil(most / 3) * 4);
    expect(bytesOfBase64(base64).length).toBeGreaterThanOrEqual(most);
    expect(bytesOfBase64(`data:image/png;base64,${base64}`).length).toBeGreaterThanOrEqual(most);
    expect(() => bytesOfBase64(`${base64}A`)).toThrow("too large");
  });

  it("must be an image", async () => {
    const server = await serve((exchange) =>
      exchange.send(200, { "content-type": "image/png" }, "<html>"),
    );
    expect((await refusal(fetchImage("/a.png", options(server.url), never))).message).toContain(
      "not an image",
    );
  });

  it("is converted to PNG where sharp is there, and else said", async () => {
    const jpeg = Buffer.from([0xff, 0xd8, 0xff, 0xe0, 0, 0]);
    const without = await refusal(asPng(jpeg, async () => undefined));
    expect(without.message).toContain("JPEG");
    expect(String(without.cause)).toContain("npm install sharp");
  });

  const made = picture(64, 48, 7);
  const pixels = () => sharp(pixelsOf(made).data, { raw: { width: 64, height: 48, channels: 4 } });

  it.each([
    ["JPEG", () => pixels().jpeg({ quality: 100, chromaSubsampling: "4:4:4" }), 16],
    ["WebP", () => pixels().webp({ lossless: true }), 0],
    ["AVIF", () => pixels().avif({ lossless: true, chromaSubsampling: "4:4:4" }), 0],
  ])("is converted to PNG from %s by sharp", async (_, encode, tolerance) => {
    const sent = await encode().toBuffer();
    const server = await serve((exchange) => exchange.send(200, {}, sent));
    const got = pixelsOf(await fetchImage("/a", options(server.url), never));
    expect([got.width, got.height]).toEqual([64, 48]);
    const wanted = pixelsOf(made).data;
    const off = got.data.map((value, i) => Math.abs(value - (wanted[i] ?? 0)));
    expect(Math.max(...off)).toBeLessThanOrEqual(tolerance);
    const broken = await refusal(asPng(sent.subarray(0, 40)));
    expect(broken.message).toContain("broken image");
  });

  it("is not converted where it claims to be enormous", async () => {
    const blank = {
      create: { width: 9000, height: 9000, channels: 3, background: "white" },
    } as const;
    const enormous = await sharp(blank).jpeg().toBuffer();
    expect((await refusal(asPng(enormous))).message).toContain("broken image");
  });

  it("is asked for by somebody: image hosts refuse who does not say", async () => {
    const server = await serve((exchange) => exchange.send(200, {}, png));
    await fetchImage("/a.png", options(server.url), never);
    expect(server.requests[0]?.headers["user-agent"]).toMatch(/^lintel\//);
  });

  it("must come with status 200, and after few redirects", async () => {
    const server = await serve((exchange) => exchange.send(404, {}, png));
    server.route("/loop", redirectTo("/loop"));
    for (const path of ["/a.png", "/loop"]) {
      await refusal(fetchImage(path, options(server.url), never));
    }
    expect(server.requests).toHaveLength(7);
  });

  it("must come in time", async () => {
    const server = await serve(async (exchange) => {
      await exchange.head(200);
      await exchange.chunk(png.subarray(0, 10));
      await exchange.gone;
    });
    const late = refusal(fetchImage("/a.png", options(server.url, { timeout: 500 }), never));
    await server.received(1);
    // The collector takes no part of the waiting away.
    setFlagsFromString("--expose-gc");
    const collect: () => void = runInNewContext("gc");
    for (let i = 0; i < 3; i++) {
      collect();
      await setImmediate();
    }
    expect((await late).code).toBe("timeout");
  });

  it("may be a preview in JPEG, where only jpeg-js is there, too", async () => {
    const jpeg = await pixels().jpeg({ quality: 100, chromaSubsampling: "4:4:4" }).toBuffer();
    const absent = () => Promise.reject(new Error("sharp is not installed"));
    for (const preview of [await previewPng(jpeg), await previewPng(jpeg, absent)]) {
      const got = pixelsOf(preview ?? new Uint8Array());
      const wanted = pixelsOf(made).data;
      const off = got.data.map((value, i) => Math.abs(value - (wanted[i] ?? 0)));
      expect(Math.max(...off)).toBeLessThanOrEqual(16);
    }
    expect(await previewPng(jpeg.subarray(0, 40), absent)).toBeUndefined();
    expect(await previewPng(undefined)).toBeUndefined();
  });

  it("is no preview where it is large", async () => {
    const absent = () => Promise.reject(new Error("sharp is not installed"));
    const blank = {
      create: { width: 2000, height: 1000, channels: 3, background: "white" },
    } as const;
    const large = await sharp(blank).jpeg().toBuffer();
    expect(await previewPng(large, absent)).toBeUndefined();
  });

  it("is not waited for when the caller has left", async () => {
    const controller = new AbortController();
    const reason = new LintelError("cancelled", "the caller left");
    let gone: Promise<void> | undefined;
    const server = await serve(async (exchange) => {
      gone = exchange.gone;
      controller.abort(reason);
      await exchange.gone;
    });
    const fetching = fetchImage("/a.png", options(server.url), controller.signal);
    await expect(fetching).rejects.toBe(reason);
    await gone;
  });

  it("can't be had from a server that is not there", async () => {
    const server = await serve(serves);
    await server.close();
    await refusal(fetchImage("/a.png", options(server.url), never));
  });
});

describe("entries of an allow list", () => {
  it("are names, patterns and origins", () => {
    for (const entry of ["cdn.example.com", "*.example.com", "http://10.0.0.5:9000"]) {
      expect(allowPattern.test(entry), entry).toBe(true);
    }
    for (const entry of ["*", "https://*.example.com", "http://a/b", "a.*.com", "ftp://a", ""]) {
      expect(allowPattern.test(entry), entry).toBe(false);
    }
  });
});
