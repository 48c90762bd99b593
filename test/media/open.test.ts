/** The store for images that a configuration describes. */
import { mkdtempSync, readdirSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { describe, expect, onTestFinished, test } from "vitest";
import { silent } from "../../src/core/log.js";
import { addressMs } from "../../src/media/address.js";
import { openMedia } from "../../src/media/open.js";
import { valid } from "../config/text.js";
import { scriptedS3 } from "./s3-scripted.js";

const day = 24 * 3_600_000;

/** A bucket as the configuration has it, `more` are further settings of it, and an image in it. */
async function stored(more: readonly string[]) {
  const server = await scriptedS3(new Map());
  // A name, since addresses have no place for a bucket's.
  const endpoint = server.endpoint.replace("127.0.0.1", "localhost");
  const settings = ["bucket: pictures", `prefix: ""`, `endpoint: ${endpoint}`, ...more];
  const { media } = valid(`media: { store: s3, ttl: 30d, s3: { ${settings.join(", ")} } }`);
  const store = await openMedia(media, () => "https://ai.example.com", silent);
  onTestFinished(() => store.close());
  const url = new URL(await store.put(Buffer.from("image")));
  const [name = ""] = server.objects.keys();
  return { store, media, server, endpoint, url, name };
}

const key = ["access_key_id: key", "secret_access_key: hidden"];

describe("in a bucket", () => {
  test("callers reach an image by a signed address, for 7 days at most", async () => {
    const { media, server, endpoint, url, name } = await stored(key);
    expect(`${url.origin}${url.pathname}`).toBe(`${endpoint}/pictures/${name}`);
    expect(url.searchParams.get("X-Amz-Expires")).toBe(String((7 * day) / 1000));
    expect(addressMs(media)).toBe(7 * day);
    expect(server.put[0]?.authorization).toMatch(/Credential=key\/\d+\/us-east-1\/s3\//);
    // Which many stores do not know.
    const checksums = Object.keys(server.put[0] ?? {}).filter((name) => name.includes("checksum"));
    expect(checksums).toEqual([]);
  });

  test.each([
    [
      "a public one",
      ["address: public", "public_url: https://cdn.example.com/a"],
      "cdn.example.com/a",
    ],
    ["the gateway's", ["address: gateway"], "ai.example.com/media"],
  ])("or by %s, for as long as it is kept", async (_, more, place) => {
    const { media, url, name } = await stored([...key, ...more]);
    expect(url.href).toBe(`https://${place}/${name}`);
    expect(addressMs(media)).toBe(30 * day);
  });

  test("by the gateway's address as its caller has it, where that is known", async () => {
    const { store } = await stored([...key, "address: gateway"]);
    expect(await store.put(Buffer.from("image"), "https://b.example")).toMatch(
      /^https:\/\/b\.example\/media\/[0-9a-f]{32}\.png$/,
    );
  });

  test("its region is the one that is set", async () => {
    const { server } = await stored([...key, "region: eu-central-1"]);
    expect(server.put[0]?.authorization).toContain("/eu-central-1/s3/");
  });
});

test("in a folder also where the configuration has a bucket that is not asked for", async () => {
  const directory = mkdtempSync(join(tmpdir(), "lintel-media-"));
  const { media } = valid(`media: { directory: "${directory}", s3: { bucket: pictures } }`);
  const store = await openMedia(media, () => "https://ai.example.com", silent);
  onTestFinished(() => store.close());
  const url = await store.put(Buffer.from("image"));
  expect(readdirSync(directory)).toEqual([url.replace("https://ai.example.com/media/", "")]);
});

test("in the answers alone an image has no address that ends", async () => {
  const { media } = valid("media: { delivery: data, ttl: 1h }");
  const store = await openMedia(media, () => "https://ai.example.com", silent);
  expect(await store.put(Buffer.from("image"))).toBe("data:image/png;base64,aW1hZ2U=");
  expect(addressMs(media)).toBeUndefined();
});
