/**
 * Image models on a GPU. What needs one runs where LINTEL_GPU says by what there is one: `vulkan`, with
 * a card or a Vulkan driver that computes on the CPU (`.ci/run` takes that of Chromium); `cuda,vulkan`.
 */
import { once } from "node:events";
import { Worker } from "node:worker_threads";
import { afterEach, describe, expect, it, vi } from "vitest";
import { State } from "../../gen/lintel/v1/models_pb.js";
import type { Gpu } from "../../src/backends/gpu.js";
import { Device } from "../../src/backends/onnx/device.js";
import type { Initializer, Node } from "../../src/backends/onnx/file/model-proto.js";
import type { OnnxFile } from "../../src/backends/onnx/file/onnx.js";
import { createOnnxBackend } from "../../src/backends/onnx/index.js";
import {
  enginePackages,
  type ImageJob,
  type Packages,
  type ThreadSettings,
} from "../../src/backends/onnx/protocol.js";
import { loadRuntime } from "../../src/backends/onnx/runtime.js";
import { PipelineThread } from "../../src/backends/onnx/thread.js";
import { giveUp, Turn } from "../../src/backends/onnx/turns.js";
import { silent } from "../../src/core/log.js";
import { never } from "../support/calls.js";
import { drawCase, ParityModels, parityCases } from "./onnx/parity.js";
import { die, faulty, folderOf, jobOf } from "./onnx/support.js";
import type { Shared } from "./onnx/turn-taker.js";

const ways = (process.env.LINTEL_GPU ?? "").split(",").filter(Boolean) as ("cuda" | "vulkan")[];
const why = ways.length > 0 ? "" : " (skipped: LINTEL_GPU=vulkan says that there is one)";
/** What ONNX Runtime calls them, and how far from diffusers pictures may be: CUDA rounds what it multiplies. */
const known = {
  cuda: { provider: "cuda", apart: 1e-2 },
  vulkan: { provider: "webgpu", apart: 1e-3 },
} as const;

const withoutGpu: Packages = {
  ...enginePackages,
  runtime: new URL("onnx/no-gpu-runtime.js", import.meta.url).href,
};

const threads: PipelineThread[] = [];
afterEach(async () => {
  await Promise.all(threads.splice(0).map((thread) => thread.close()));
});

function threadOf(gpu: Gpu, more: Partial<ThreadSettings> = {}) {
  const packages = enginePackages;
  const settings = { folder: folderOf("tiny"), threads: 1, packages, gpu, ...more };
  const thread = new PipelineThread(settings, async () => {});
  threads.push(thread);
  return thread;
}

/** The picture of a job. */
async function draw(thread: PipelineThread, changes: Partial<ImageJob> = {}): Promise<Buffer> {
  const pictures: Uint8Array[] = [];
  await thread.run(jobOf(changes), (event) => {
    if (event.type === "image") pictures.push(event.data);
  });
  return Buffer.concat(pictures);
}

describe("without a GPU", () => {
  function backendOf(gpu: "auto" | "cuda" | "vulkan") {
    const log = { ...silent, warn: vi.fn() };
    const config = { type: "onnx", name: "images", path: folderOf("tiny"), threads: 1 } as const;
    const backend = createOnnxBackend({ ...config, gpu }, { log }, withoutGpu);
    backend.start?.();
    return { backend, log };
  }

  it("says why a GPU that was named can't be used", async () => {
    const { backend } = backendOf("vulkan");
    const said =
      "gpu: vulkan can't be used: webgpu: Failed to get a WebGPU adapter: No supported adapters";
    await expect(backend.ready?.("tiny", never)).rejects.toMatchObject({
      code: "model_not_loaded",
      message: said,
    });
    expect(backend.models()[0]).toMatchObject({ state: State.FAILED, stateDetail: said });
    await backend.close();
  });

  // Where CUDA is tried it is there.
  it.skipIf(ways.includes("cuda"))(
    "says where the CUDA provider comes from, which npm does not bring",
    async () => {
      const { backend } = backendOf("cuda");
      await expect(backend.ready?.("tiny", never)).rejects.toThrow(
        "gpu: cuda can't be used: cuda: onnxruntime-node has no CUDA provider here; docs/node.md says how it gets one",
      );
      await backend.close();
    },
  );

  it("runs on the CPU where any would have done, and says so", async () => {
    const { backend, log } = backendOf("auto");
    await backend.ready?.("tiny", never);
    expect(log.warn).toHaveBeenCalledExactlyOnceWith(
      expect.objectContaining({
        model: "tiny",
        why: expect.stringContaining("No supported adapters"),
      }),
      "no GPU can be used: it runs on the CPU",
    );
    expect(backend.models()[0]?.state).toBe(State.READY);
    await backend.close();
  });
});

describe.skipIf(ways.length === 0)(`with a GPU${why}`, () => {
  const each = ways.length > 0 ? ways : (["vulkan"] as const);
  const [best] = each;
  const wanted = [
    "LCM, v, taught on few steps",
    "sdxl without guidance",
    "a LoRA in kohya's naming, convolutions too",
  ].map((name) => parityCases.find((found) => found.name === name));

  const cases = each.flatMap((way) => wanted.map((found) => ({ way, name: found?.name, found })));
  it.each(cases)("gives what diffusers gives: $way, $name", async ({ way, found: wanted }) => {
    if (!wanted) throw new Error("there is no such case");
    const models = await ParityModels.unpack(wanted.layout);
    try {
      const drawn = await drawCase(wanted, models, await loadRuntime(), way);
      expect(drawn.apart).toBeLessThan(known[way].apart);
      expect(drawn.unfused).toBeUndefined();
      if (way === "vulkan") expect(drawn.farColours).toEqual([]);
    } finally {
      await models.remove();
    }
  });

  it("takes it where any will do, and needs no room for it in the CPU's memory", async () => {
    const thread = threadOf("auto", { freeMemory: 1 });
    await expect(thread.loaded).resolves.toEqual({ provider: known[best ?? "vulkan"].provider });
  });

  it.each(each)("lets models that draw at the same time take turns: %s", async (way) => {
    const alone = threadOf(way === "cuda" ? way : false);
    const gpus = [threadOf(way), threadOf(way), threadOf(way)];
    const drawn = await Promise.all(gpus.map((thread) => draw(thread, { steps: 8 })));
    const expected = await draw(alone, { steps: 8 });
    expect(expected.length).toBeGreaterThan(100);
    for (const picture of drawn) expect(picture.equals(expected)).toBe(true);
  });

  it.each(each)("goes on when a thread ends in the middle of its turn: %s", async (way) => {
    const thread = threadOf(way, { packages: faulty });
    await expect(draw(thread, die)).rejects.toThrow("the image engine's thread ended");
    expect((await draw(threadOf(way))).length).toBeGreaterThan(100);
  });
});

describe("the layout of a graph on WebGPU", () => {
  const none = { start: 0, end: 0 };
  const fileOf = (dims: readonly number[], of = "w"): OnnxFile => {
    const conv: Node = {
      ...{ name: "", op: "Conv", inputs: ["x", of], outputs: ["y"] },
      ...{ attributes: new Map(), field: none },
    };
    const weight: Initializer = { name: "w", type: 1, dims, field: none, data: undefined };
    const graph = { number: 7, tag: 0, isBytes: true, value: 0, ...none };
    const sizes = { size: 0, bytes: 0, singleBytes: 0 };
    const names = { path: "", name: "", outputs: ["y"], domains: [] };
    return { ...names, graph, ...sizes, nodes: [conv], initializers: [weight] };
  };
  const layoutOf = async (file: OnnxFile) => {
    const runtime = {
      InferenceSession: { create: async () => ({ release: async () => {} }) },
    } as unknown as Parameters<typeof Device.open>[0];
    const device = await Device.open(runtime, "vulkan", new SharedArrayBuffer(4));
    return device.providersFor(file);
  };

  it.each([
    ["NHWC", [320, 4, 3, 3]],
    ["NHWC", [1024, 3, 14, 14]],
    ["NHWC", [64, 12, 3, 3]],
    ["NHWC", [64, 10, 3, 3]],
    // Wrong numbers otherwise: https://github.com/microsoft/onnxruntime/issues/29651
    ["NCHW", [64, 6, 3, 3]],
    ["NCHW", [320, 9, 3, 3]],
    ["NCHW", [64, 33, 3, 3]],
  ])("is %s for a convolution of %j", async (preferredLayout, dims) => {
    expect(await layoutOf(fileOf(dims))).toEqual([{ name: "webgpu", preferredLayout }]);
  });

  it("is the safe one where a convolution's weights are computed", async () => {
    const [provider] = await layoutOf(fileOf([320, 4, 3, 3], "computed"));
    expect(provider).toEqual({ name: "webgpu", preferredLayout: "NCHW" });
  });
});

describe("turns", () => {
  it("let one after the other use what can't be shared", async () => {
    const turn = new Turn(new SharedArrayBuffer(4));
    const seen: string[] = [];
    const use = (name: string) => async () => {
      seen.push(`${name} begins`);
      await Promise.resolve();
      seen.push(`${name} ends`);
    };
    await Promise.all([turn.take(use("a")), turn.take(use("b"))]);
    expect(seen).toEqual(["a begins", "a ends", "b begins", "b ends"]);
  });

  it("are one thread's at a time", async () => {
    const data: Shared = {
      turns: new SharedArrayBuffer(4),
      taken: new SharedArrayBuffer(4),
    };
    const take = async (name: string, said: (what: string) => void) => {
      const worker = new Worker(new URL("./onnx/turn-taker.ts", import.meta.url), {
        workerData: data,
        name,
        execArgv: ["--import", new URL("../../scripts/typescript-loader.js", import.meta.url).href],
      });
      worker.on("message", said);
      await once(worker, "online");
      return worker;
    };
    const first: string[] = [];
    const second: string[] = [];
    const one = await take("one", (what) => void first.push(what));
    await vi.waitUntil(() => first.length === 2);
    const other = await take("other", (what) => void second.push(what));
    await vi.waitUntil(() => second.length > 0);
    const gone = [one, other].map((worker) => once(worker, "exit"));
    for (const worker of [one, other]) worker.postMessage("end");
    await Promise.all(gone);
    expect([first, second]).toEqual([
      ["tries", "alone"],
      ["tries", "alone"],
    ]);
  });

  it("go on after one that failed, and after one that was given up", async () => {
    const buffer = new SharedArrayBuffer(4);
    const turn = new Turn(buffer);
    await expect(turn.take(() => Promise.reject(new Error("no")))).rejects.toThrow("no");
    const gone = 7;
    new Int32Array(buffer)[0] = gone + 1;
    giveUp(buffer, gone + 1);
    expect(new Int32Array(buffer)[0]).toBe(gone + 1);
    giveUp(buffer, gone);
    await expect(turn.take(async () => "went on")).resolves.toBe("went on");
  });
});
