/** Addresses of images, as callers behind a proxy need them. */
import { createClient } from "@connectrpc/connect";
import { afterAll, describe, expect, test } from "vitest";
import { TextToImageService } from "../../gen/lintel/v1/image_pb.js";
import { forwardedBy, type TrustedProxies } from "../../src/doors/forwarded.js";
import { startLintel } from "../support/lintel.js";
import { paints, scripted } from "../support/scripted.js";
import { transportOf, wires } from "./rpc-server.js";
import { chunks, json } from "./serve.js";

const trusting = async (trusted: TrustedProxies) => {
  const lintel = await startLintel([scripted({ streamTextToImage: paints() })], {
    doorSettings: { baseUrlOf: forwardedBy(trusted) },
  });
  afterAll(() => lintel.close());
  return lintel;
};
const lintel = await trusting(["10.0.0.0/8", "127.0.0.1"]);
const wary = await trusting(["10.0.0.0/8"]);

const proxied = {
  "x-forwarded-proto": "https",
  "x-forwarded-host": "ai.example.com",
  "x-forwarded-prefix": "/pictures/",
};
const there = /^https:\/\/ai\.example\.com\/pictures\/media\/[0-9a-f]{32}\.png$/;

function post(url: string, path: string, body: object, headers: Record<string, string>) {
  return fetch(url + path, {
    method: "POST",
    headers: { authorization: "Bearer me", "content-type": "application/json", ...headers },
    body: JSON.stringify({ prompt: "a cat", ...body }),
  });
}

async function addressFor(headers: Record<string, string>, url = lintel.url): Promise<string> {
  const [image] = (await json(await post(url, "/text-to-image", {}, headers))).images;
  return image.url;
}

describe("where a trusted proxy says how callers reach the gateway, images are there", () => {
  test("over REST", async () => {
    expect(await addressFor(proxied)).toMatch(there);
  });

  test("over SSE", async () => {
    const events = await chunks(
      await post(lintel.url, "/text-to-image", { stream: true }, proxied),
    );
    const [event] = events.filter(({ type }) => type === "image");
    expect(event.image.url).toMatch(there);
  });

  test("over OpenAI's paths", async () => {
    const answer = await post(
      lintel.url,
      "/v1/images/generations",
      { response_format: "url" },
      proxied,
    );
    expect((await json(answer)).data[0].url).toMatch(there);
  });

  test.each(wires)("over %s", async (wire) => {
    const client = createClient(TextToImageService, transportOf(wire, lintel.url));
    const headers = { authorization: "Bearer me", ...proxied };
    const { images } = await client.textToImage({ prompt: "a cat" }, { headers });
    expect(images[0]?.url).toMatch(there);
    for await (const { event } of client.streamTextToImage({ prompt: "a cat" }, { headers })) {
      if (event.case === "image") expect(event.value.media?.url).toMatch(there);
    }
  });

  test.each(wires)("under the host of the request where none is said, over %s", async (wire) => {
    const client = createClient(TextToImageService, transportOf(wire, lintel.url));
    const headers = { authorization: "Bearer me", "x-forwarded-proto": "https" };
    const { images } = await client.textToImage({ prompt: "a cat" }, { headers });
    const { host } = new URL(lintel.url);
    expect(images[0]?.url).toMatch(`https://${host}/media/`);
  });
});

describe("nobody else is believed", () => {
  test("who is no trusted proxy, on any door", async () => {
    expect(await addressFor(proxied, wary.url)).toMatch(`${wary.url}/media/`);
    for (const wire of ["gRPC, binary", "Connect on HTTP/1, JSON"] as const) {
      const client = createClient(TextToImageService, transportOf(wire, wary.url));
      const headers = { authorization: "Bearer me", ...proxied };
      const { images } = await client.textToImage({ prompt: "a cat" }, { headers });
      expect(images[0]?.url).toMatch(`${wary.url}/media/`);
    }
  });

  test.each<Record<string, string>>([
    {},
    { "x-forwarded-prefix": "/pictures" },
    { "x-forwarded-for": "192.0.2.1" },
    { forwarded: "for=192.0.2.1" },
    // Of several proxies the last one's word counts, also where it says nothing of this.
    { forwarded: "proto=https;host=forged.example, for=192.0.2.1" },
    { ...proxied, "x-forwarded-proto": "javascript" },
    { ...proxied, "x-forwarded-host": "evil.example/?" },
    { ...proxied, "x-forwarded-host": "user@evil.example" },
    { ...proxied, "x-forwarded-host": "a b" },
  ])("%j says nothing that could be used", async (headers) => {
    expect(await addressFor(headers)).toMatch(`${lintel.url}/media/`);
  });

  test("a prefix that is no path is left out", async () => {
    const address = await addressFor({ ...proxied, "x-forwarded-prefix": "//evil.example/?" });
    expect(address).toMatch(/^https:\/\/ai\.example\.com\/media\//);
  });
});

describe("what proxies say", () => {
  const { host } = new URL(lintel.url);

  test.each<[Record<string, string>, string]>([
    [{ "x-forwarded-proto": "https" }, `https://${host}/media/`],
    [{ "x-forwarded-host": "ai.example.com:8443" }, "http://ai.example.com:8443/media/"],
    [
      { "x-forwarded-host": "forged.example, ai.example.com", "x-forwarded-proto": "http,https" },
      "https://ai.example.com/media/",
    ],
    [{ forwarded: "for=192.0.2.1;proto=https;host=ai.example.com" }, "https://ai.example.com/"],
    [
      { forwarded: 'host=forged.example, For="[2001:db8::1]:1" ; Proto=HTTPS ; Host="[::1]:8443"' },
      "https://[::1]:8443/media/",
    ],
    [
      { forwarded: 'for="a,b;host=forged.example";proto=https;host="ai.example.com"' },
      "https://ai.example.com/media/",
    ],
    [{ ...proxied, forwarded: "proto=http;host=b.example" }, "https://ai.example.com/pictures/"],
  ])("%j", async (headers, begins) => {
    expect((await addressFor(headers)).startsWith(begins)).toBe(true);
  });

  test("counts from everybody where everybody is trusted, and from nobody by default", () => {
    const header = (name: string) => ({ ...proxied, host: "x" })[name];
    const from = { remoteAddress: "192.0.2.1" };
    expect(forwardedBy(true)?.(header, from)).toBe("https://ai.example.com/pictures");
    expect(forwardedBy(true)?.(header, undefined)).toBe("https://ai.example.com/pictures");
    expect(forwardedBy(["192.0.2.1"])?.(header, undefined)).toBeUndefined();
    // A connection that is closed is nobody's, and none by a Unix socket.
    expect(forwardedBy(["127.0.0.1"])?.(header, undefined)).toBeUndefined();
    expect(forwardedBy(false)).toBeUndefined();
    expect(forwardedBy([])).toBeUndefined();
  });

  test("no host: it is that of the request, over HTTP/2 its `:authority` and no header beside it", () => {
    const said = { "x-forwarded-proto": "https", host: "other.example", ":authority": "a.example" };
    const header = (name: string) => said[name as keyof typeof said];
    expect(forwardedBy(true)?.(header, {})).toBe("https://a.example");
  });

  test("by a Unix socket from this machine", () => {
    const header = (name: string) => proxied[name as keyof typeof proxied];
    expect(forwardedBy(["127.0.0.1"])?.(header, {})).toBe("https://ai.example.com/pictures");
    expect(forwardedBy(["10.0.0.0/8"])?.(header, {})).toBeUndefined();
  });

  test("nothing about the scheme: it is the connection's own", () => {
    const header = (name: string) => ({ "x-forwarded-host": "a.example" })[name];
    const secure = { remoteAddress: "::ffff:127.0.0.1", encrypted: true };
    expect(forwardedBy(["127.0.0.1"])?.(header, secure)).toBe("https://a.example");
  });
});
