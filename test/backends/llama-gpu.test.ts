/**
 * Chat models on a GPU. What needs one runs where LINTEL_CHAT_GPU says by what there is one: `vulkan`, with
 * a card or a Vulkan driver that computes on the CPU, and llama.cpp's package for it (`.ci/run` takes Mesa's).
 */
import { afterEach, describe, expect, it, vi } from "vitest";
import type { Gpu } from "../../src/backends/gpu.js";
import { createLlamaBackend } from "../../src/backends/llama/index.js";
import { importLlama, runtime } from "../../src/backends/llama/library.js";
import { llamaSchema } from "../../src/backends/llama/schema.js";
import type { Backend } from "../../src/core/backend.js";
import { silent } from "../../src/core/log.js";
import { never } from "../support/calls.js";
import { answer, backendFor, chatRequest, trained } from "./llama-subject.js";

const ways = (process.env.LINTEL_CHAT_GPU ?? "").split(",").filter(Boolean) as (
  | "cuda"
  | "vulkan"
)[];
const why = ways.length > 0 ? "" : " (skipped: LINTEL_CHAT_GPU=vulkan says that there is one)";

const backends: Backend[] = [];
const undo: (() => Promise<void>)[] = [];
afterEach(async () => {
  await Promise.all(backends.splice(0).map((backend) => backend.close()));
  await Promise.all(undo.splice(0).map((it) => it()));
});

function on(gpu: Gpu, more: object = {}) {
  const log = { ...silent, info: vi.fn(), warn: vi.fn() };
  const config = llamaSchema.parse({ type: "llama", name: "test", path: trained, gpu, ...more });
  const backend = createLlamaBackend(config, { log });
  backends.push(backend);
  return { backend, log };
}

const question = () => chatRequest("What is Lintel?", { maxTokens: 24 });

/** Lets llama.cpp use so much of a GPU's memory, bytes. */
async function cap(gpu: Gpu, bytes: number) {
  const { llama } = await runtime(await importLlama(), gpu, silent);
  await llama.setVramCap(bytes);
  undo.push(() => llama.setVramCap(null));
}

it("says that it runs on the CPU", async () => {
  const { backend, log } = on(false);
  await backend.ready?.("lintel-chat", never);
  const said = { model: "lintel-chat", maxTokens: expect.any(Number), runs: "cpu" };
  expect(log.info).toHaveBeenCalledWith(said, "model loaded");
});

describe.skipIf(ways.length === 0).each(ways)(`on a GPU by %s${why}`, (gpu) => {
  it("answers as on the CPU, and says what the GPU holds", async () => {
    const { backend, log } = on(gpu);
    const cpu = backendFor(trained);
    backends.push(cpu);
    const { text } = await answer(cpu, question());
    expect((await answer(backend, question())).text).toBe(text);
    const where = { runs: gpu, gpuLayers: "6 of 6" };
    expect(log.info).toHaveBeenCalledWith(expect.objectContaining(where), "model loaded");
  });

  it("holds as many layers as it is told", async () => {
    const { backend, log } = on(gpu, { gpu_layers: 2 });
    expect((await answer(backend, question())).text).toMatch(/^Lintel is/);
    const where = { runs: gpu, gpuLayers: "2 of 6" };
    expect(log.info).toHaveBeenCalledWith(expect.objectContaining(where), "model loaded");
  });

  it("is not loaded where the GPU has no room, and says how much there is", async () => {
    await cap(gpu, 1_000_000);
    const { backend } = on(gpu);
    await expect(answer(backend, question())).rejects.toMatchObject({
      code: "model_not_loaded",
      message: expect.stringMatching(
        /^lintel-chat\.gguf: Not enough VRAM .*: \d+\.\d of \d+\.\d GB are free$/,
      ),
    });
  });
});

describe.skipIf(ways.length === 0)(`on the best that there is${why}`, () => {
  it("runs on the CPU where the GPU has no room, and says why", async () => {
    await cap("auto", 1_000_000);
    const { backend, log } = on("auto");
    expect((await answer(backend, question())).text).toMatch(/^Lintel is/);
    expect(log.warn).toHaveBeenCalledWith(
      { path: trained, why: expect.stringContaining("Not enough VRAM") },
      "no GPU can be used: it runs on the CPU",
    );
    const where = { runs: "cpu" };
    expect(log.info).toHaveBeenCalledWith(expect.objectContaining(where), "model loaded");
  });
});
