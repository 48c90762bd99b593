/** Images of a whole gateway, as its configuration says: where they are, and what the checker did. */
import { readdirSync } from "node:fs";
import { join } from "node:path";
import { PNG } from "pngjs";
import { describe, expect, onTestFinished, test, vi } from "vitest";
import { folderOf } from "../backends/onnx/support.js";
import { gateway } from "../support/gateway.js";

const backends = `
backends:
  - { type: onnx, name: pictures, id: tiny, path: ${folderOf("tiny")}, threads: 1 }
`;
const classifier = join(import.meta.dirname, "../safety/classifier");
/** Every picture has one of the two labels. */
const harmful = `checker: { type: classifier, path: ${classifier}, labels: [nsfw, normal] }`;

async function ask(url: string, more: object = {}, headers: Record<string, string> = {}) {
  const response = await fetch(`${url}/text-to-image`, {
    method: "POST",
    headers: { authorization: "Bearer me", "content-type": "application/json", ...headers },
    body: JSON.stringify({
      ...{ prompt: "a red circle", width: 64, height: 64, num_inference_steps: 2, seed: 1 },
      ...more,
    }),
  });
  // biome-ignore lint/suspicious/noExplicitAny: looked into without its types
  return { status: response.status, body: (await response.json()) as any };
}

async function bytesOf(address: string): Promise<Buffer> {
  return Buffer.from(await (await fetch(address)).arrayBuffer());
}

const forwarded = { "x-forwarded-proto": "https", "x-forwarded-host": "ai.example.com" };

describe("the address of an image", () => {
  test("is the gateway's own, and the image lies in the state folder", async () => {
    const { url, cwd } = await gateway(backends);
    const { body } = await ask(url, { safety_check: false }, forwarded);
    const [{ url: address }] = body.images;
    expect(address.startsWith(`${url}/media/`)).toBe(true);
    expect(PNG.sync.read(await bytesOf(address))).toMatchObject({ width: 64, height: 64 });
    expect(readdirSync(join(cwd, "state/media"))).toEqual([address.split("/").at(-1)]);
  });

  test("begins with public_url, whatever proxies say", async () => {
    const { url } = await gateway(
      `${backends}public_url: https://public.example/ai/\ntrust_proxy: true\n`,
    );
    const { body } = await ask(url, { safety_check: false }, forwarded);
    expect(body.images[0].url).toMatch(/^https:\/\/public\.example\/ai\/media\/[0-9a-f]{32}\.png$/);
  });

  test("begins as a trusted proxy says", async () => {
    const { url } = await gateway(`${backends}trust_proxy: [127.0.0.0/8]\n`);
    const { body } = await ask(url, { safety_check: false }, forwarded);
    expect(body.images[0].url).toMatch(/^https:\/\/ai\.example\.com\/media\//);
  });

  test("is the image itself where the operator chose that", async () => {
    const { url, cwd } = await gateway(`${backends}media: { delivery: data }\n`);
    const { body } = await ask(url, { safety_check: false });
    const [, base64 = ""] = /^data:image\/png;base64,(.+)$/.exec(body.images[0].url) ?? [];
    expect(PNG.sync.read(Buffer.from(base64, "base64")).width).toBe(64);
    expect(readdirSync(join(cwd, "state"))).not.toContain("media");
  });
});

test("of an image that is asked for itself, by OpenAI's path, nothing is kept", async () => {
  const { url, cwd } = await gateway(backends);
  const response = await fetch(`${url}/v1/images/generations`, {
    method: "POST",
    headers: { authorization: "Bearer me", "content-type": "application/json" },
    body: JSON.stringify({ prompt: "a cat", size: "64x64", response_format: "b64_json" }),
  });
  const { data } = (await response.json()) as { data: [{ b64_json: string }] };
  expect(PNG.sync.read(Buffer.from(data[0].b64_json, "base64"))).toMatchObject({ width: 64 });
  expect(readdirSync(join(cwd, "state/media"))).toEqual([]);
});

test("an answer without addresses is not that of a request which is to have them", async () => {
  const { url } = await gateway(backends);
  const post = async (path: string, body: object) => {
    const headers = { authorization: "Bearer me", "content-type": "application/json" };
    const init = { method: "POST", headers: { ...headers, "idempotency-key": "k" } };
    const response = await fetch(`${url}${path}`, { ...init, body: JSON.stringify(body) });
    return response.status;
  };
  const asked = { prompt: "a cat", seed: 1, width: 64, height: 64 };
  const openai = { ...asked, response_format: "b64_json" };
  expect(await post("/v1/images/generations", openai)).toBe(200);
  const rpc = { ...asked, includeData: true };
  expect(await post("/lintel.v1.TextToImageService/TextToImage", rpc)).toBe(400);
  expect(await post("/v1/images/generations", openai)).toBe(200);
});

test("who repeats a call after its images are gone gets new ones", async () => {
  vi.useFakeTimers({ toFake: ["Date"] });
  onTestFinished(() => void vi.useRealTimers());
  const { url } = await gateway(`${backends}media: { ttl: 1h }\n`);
  const found = async () => {
    const { body } = await ask(url, { safety_check: false }, { "idempotency-key": "k" });
    const { url: address } = body.images[0];
    return { address, status: (await fetch(address)).status };
  };
  const first = await found();
  vi.advanceTimersByTime(3_599_000);
  expect(await found()).toEqual(first);
  vi.advanceTimersByTime(1_000);
  const { address, status } = await found();
  expect(address).not.toBe(first.address);
  expect(status).toBe(200);
});

test("an answer without addresses is repeated for as long as any other", async () => {
  vi.useFakeTimers({ toFake: ["Date"] });
  onTestFinished(() => void vi.useRealTimers());
  const { url } = await gateway(`${backends}media: { ttl: 1h }\n`);
  const replayed = async () => {
    const headers = { authorization: "Bearer me", "content-type": "application/json" };
    const response = await fetch(`${url}/v1/images/generations`, {
      method: "POST",
      headers: { ...headers, "idempotency-key": "k" },
      body: JSON.stringify({ prompt: "a cat", size: "64x64", response_format: "b64_json" }),
    });
    await response.json();
    return response.headers.get("idempotent-replayed");
  };
  expect(await replayed()).toBeNull();
  vi.advanceTimersByTime(3_600_000);
  expect(await replayed()).toBe("true");
});

describe("an image that the checker finds harmful", () => {
  test("is answered and flagged", async () => {
    const { url } = await gateway(`${backends}safety: { ${harmful} }\n`);
    const checked = (await ask(url)).body;
    expect(checked.images[0].nsfw).toBe(true);
    expect(checked.warnings).toBeUndefined();
    const plain = (await ask(url, { safety_check: false })).body;
    expect(plain.images[0].nsfw).toBe(false);
    expect(await bytesOf(checked.images[0].url)).toEqual(await bytesOf(plain.images[0].url));
  });

  test("is blurred where the operator says so, and never stored as it was", async () => {
    const { url, cwd } = await gateway(`${backends}safety: { action: blur, ${harmful} }\n`);
    const [blurred] = (await ask(url)).body.images;
    expect(blurred.nsfw).toBe(true);
    expect(readdirSync(join(cwd, "state/media"))).toHaveLength(1);
    const [plain] = (await ask(url, { safety_check: false })).body.images;
    const [a, b] = [await bytesOf(blurred.url), await bytesOf(plain.url)].map((png) =>
      PNG.sync.read(png),
    );
    expect([a?.width, a?.height]).toEqual([64, 64]);
    expect(a?.data.equals(b?.data ?? Buffer.alloc(0))).toBe(false);
  });

  test("is blurred in a thread of its own", async () => {
    // Usage has a thread, too, which begins some time after the first call.
    const { url } = await gateway(
      `${backends}usage: { enabled: false }\nsafety: { action: blur, ${harmful} }\n`,
    );
    await ask(url);
    let threads = 0;
    const count = () => threads++;
    process.on("worker", count);
    onTestFinished(() => void process.off("worker", count));
    await ask(url);
    expect(threads).toBe(1);
  });

  test("is refused where the operator says so, and not stored", async () => {
    const { url, cwd } = await gateway(`${backends}safety: { action: block, ${harmful} }\n`);
    const { status, body } = await ask(url);
    expect(status).toBe(400);
    expect(body.error.code).toBe("content_blocked");
    expect(readdirSync(join(cwd, "state/media"))).toEqual([]);
  });
});

describe("a checker of the gateway behind", () => {
  const inFrontOf = async (behind: string) =>
    gateway(`backends:\n  - { type: node, name: behind, address: "${behind}", token: any }\n`);

  test("is asked for by the gateway before it, and believed", async () => {
    const behind = await gateway(`${backends}safety: { ${harmful} }\n`);
    const { url } = await inFrontOf(behind.url);
    const { body } = await ask(url);
    expect(body.images[0].nsfw).toBe(true);
    expect(body.warnings).toBeUndefined();
    expect((await ask(url, { safety_check: false })).body.images[0].nsfw).toBe(false);
  });

  test("blocks for the callers of the gateway before it, too", async () => {
    const behind = await gateway(`${backends}safety: { action: block, ${harmful} }\n`);
    const { status, body } = await ask((await inFrontOf(behind.url)).url);
    expect(status).toBe(400);
    expect(body.error.code).toBe("content_blocked");
  });
});

describe("a checker that fails", () => {
  const away = "checker: { type: moderation, url: http://127.0.0.1:9, timeout: 1s }";

  test("has images refused", async () => {
    const { url, lines } = await gateway(`${backends}safety: { ${away} }\n`);
    const { status, body } = await ask(url);
    expect(status).toBe(503);
    expect(body.error.message).toBe("the safety check can't be done now");
    expect(lines.map(({ message }) => message)).toContain("a safety check failed");
  });

  test("lets images pass, with a warning, where the operator says so", async () => {
    const metrics = "telemetry: { prometheus: true }\n";
    const { url, lines } = await gateway(
      `${backends}${metrics}safety: { on_failure: open, ${away} }\n`,
    );
    const { body } = await ask(url, { num_images_per_prompt: 2 });
    expect(body.images.map(({ nsfw }: { nsfw: boolean }) => nsfw)).toEqual([false, false]);
    expect(body.warnings).toEqual([
      "safety_check: the checker failed, not all images were checked",
    ]);
    // Of a call, however many images it has.
    expect(lines.filter(({ message }) => message === "a safety check failed")).toHaveLength(1);
    expect(await (await fetch(`${url}/metrics`)).text()).toMatch(
      /^lintel_safety_failures_total\{gen_ai_request_model="[^"]+"\} 1$/m,
    );
  });
});
