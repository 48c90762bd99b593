/** Models by name: fetched once from a server that speaks as Hugging Face does, then never asked for. */
import { mkdtemp, readdir, readFile, rm } from "node:fs/promises";
import { createServer, type Server } from "node:http";
import type { AddressInfo } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, expect, test, vi } from "vitest";
import { createLlamaBackend } from "../../src/backends/llama/index.js";
import { llamaSchema } from "../../src/backends/llama/schema.js";
import { silent } from "../../src/core/log.js";
import { answer, chatRequest, tiny } from "./llama-subject.js";

let server: Server;
let folder: string;
let asked: string[];

beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), "lintel-test-"));
  asked = [];
  const bytes = await readFile(tiny);
  server = createServer((request, response) => {
    asked.push(`${request.method} ${request.url}`);
    const path = request.url?.split("?")[0] ?? "";
    if (path === "/v2/someone/Tiny-GGUF/manifests/Q8_0") {
      response.setHeader("content-type", "application/json");
      response.end(JSON.stringify({ ggufFile: { rfilename: "tiny.Q8_0.gguf" } }));
      return;
    }
    if (path.includes("/Gated-GGUF/")) {
      response.writeHead(401).end();
      return;
    }
    if (!/^\/someone\/Tiny-GGUF\/resolve\/main\/tiny(\.Q8_0)?\.gguf$/.test(path)) {
      response.writeHead(404).end();
      return;
    }
    const [, from, to] = /^bytes=(\d+)-(\d*)$/.exec(request.headers.range ?? "") ?? [];
    const end = to ? Math.min(Number(to), bytes.length - 1) : bytes.length - 1;
    const part = from === undefined ? bytes : bytes.subarray(Number(from), end + 1);
    response.writeHead(from === undefined ? 200 : 206, {
      "content-length": part.length,
      "accept-ranges": "bytes",
      ...(from !== undefined && { "content-range": `bytes ${from}-${end}/${bytes.length}` }),
    });
    response.end(request.method === "HEAD" ? undefined : part);
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  vi.stubEnv("HF_ENDPOINT", `http://127.0.0.1:${(server.address() as AddressInfo).port}/`);
});

afterEach(async () => {
  vi.unstubAllEnvs();
  await close();
  await rm(folder, { recursive: true });
});

function close(): Promise<unknown> {
  server.closeAllConnections();
  return new Promise((resolve) => server.close(resolve));
}

const backendFor = (path: string) =>
  createLlamaBackend(llamaSchema.parse({ type: "llama", name: "test", path }), {
    log: silent,
    downloads: folder,
  });

test.each(["hf:someone/Tiny-GGUF/tiny.gguf", "hf:someone/Tiny-GGUF:Q8_0"])(
  "%s is fetched once, and works without a network then",
  async (path) => {
    const first = backendFor(path);
    const { text } = await answer(first, chatRequest("hello"));
    expect(first.models()[0]).toMatchObject({ source: path, contextLength: 128 });
    expect(Number(first.models()[0]?.sizeBytes)).toBe((await readFile(tiny)).length);
    await first.close();
    expect(asked.length).toBeGreaterThan(0);
    expect(await readdir(folder)).toHaveLength(1);

    await close();
    const again = backendFor(path);
    expect((await answer(again, chatRequest("hello"))).text).toBe(text);
    await again.close();
  },
);

test("a name that nobody has is told, with what to do", async () => {
  const backend = backendFor("hf:someone/Tiny-GGUF/other.gguf");
  await expect(answer(backend, chatRequest("hello"))).rejects.toMatchObject({
    code: "model_not_loaded",
    message: expect.stringMatching(/^hf:someone\/Tiny-GGUF\/other\.gguf: .*other\.gguf elsewhere/),
  });
  await backend.close();
});

test("one that needs a token says so, and a name that is none as well", async () => {
  const gated = "hf:someone/Gated-GGUF/tiny.gguf";
  for (const [path, why] of [
    [gated, "access was refused, HF_TOKEN must hold a token that may read it"],
    ["hf:someone", "not a name such as hf:user/repository:Q4_K_M"],
  ] as const) {
    const backend = backendFor(path);
    await expect(answer(backend, chatRequest("hello"))).rejects.toMatchObject({
      code: "model_not_loaded",
      message: expect.stringContaining(`${path}: ${why}; check the name`),
    });
    await backend.close();
  }
});

test("without a network a model that is not there says so, and no address", async () => {
  await close();
  const backend = backendFor("hf:someone/Tiny-GGUF:Q4_K_M");
  const error = await answer(backend, chatRequest("hello")).catch((thrown) => thrown);
  expect(error.message).toBe(
    "hf:someone/Tiny-GGUF:Q4_K_M: not on this machine, and it can't be fetched; check the name and the network, or fetch the GGUF file elsewhere and give its path",
  );
  expect(backend.models()[0]?.id).toBe("Tiny");
  await backend.close();
});
