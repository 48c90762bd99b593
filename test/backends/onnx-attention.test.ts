/** Attention of image models as one node of ONNX Runtime's own. */
import { copyFile, mkdir, mkdtemp, readdir, rm, symlink, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { basename, dirname, join, relative } from "node:path";
import { fileURLToPath } from "node:url";
import { afterAll, beforeAll, describe, expect, it, vi } from "vitest";
import { State } from "../../gen/lintel/v1/models_pb.js";
import { fuseAttention } from "../../src/backends/onnx/attention/fuse.js";
import { type OnnxFile, readOnnx } from "../../src/backends/onnx/file/onnx.js";
import { ownOperators, type Rewritten, rewriteOnnx } from "../../src/backends/onnx/file/rewrite.js";
import { Graph } from "../../src/backends/onnx/graph.js";
import { createOnnxBackend } from "../../src/backends/onnx/index.js";
import { noiseOf } from "../../src/backends/onnx/noise.js";
import { Pipeline } from "../../src/backends/onnx/pipeline.js";
import { enginePackages } from "../../src/backends/onnx/protocol.js";
import { loadRuntime, type Runtime } from "../../src/backends/onnx/runtime.js";
import { silent } from "../../src/core/log.js";
import { never } from "../support/calls.js";
import { type Form, writeAttention } from "./onnx/attention-graph.js";
import { apart, type Layout, ParityModels } from "./onnx/parity.js";
import { jobOf, onCpu } from "./onnx/support.js";

const embedded = fileURLToPath(new URL("../../models/image/lintel-image", import.meta.url));

let models: ParityModels;
let runtime: Runtime;
let directory: string;
beforeAll(async () => {
  models = await ParityModels.unpack("sd15", "sdxl", "turbo", "lcm");
  runtime = await loadRuntime();
  directory = await mkdtemp(join(tmpdir(), "lintel-attention-"));
});
afterAll(async () => {
  await models.remove();
  await rm(directory, { recursive: true });
});

const count = (file: OnnxFile, op: string) => file.nodes.filter((node) => node.op === op).length;

/** A file as it is once it is rewritten. */
async function reread({ model }: Rewritten, like: OnnxFile): Promise<OnnxFile> {
  // Beside the one that it refers to.
  const name = `fused-${basename(like.path)}`;
  await writeFile(join(dirname(like.path), name), model);
  return readOnnx(dirname(like.path), name);
}

/** What a UNet says to numbers of no meaning. */
async function resultOf(file: OnnxFile, source: string | Rewritten): Promise<Float32Array> {
  const optional = ["text_embeds", "time_ids", "timestep_cond"];
  const inputs = ["sample", "timestep", "encoder_hidden_states"];
  const signature = { inputs, optional, outputs: ["out_sample"] };
  const graph = await Graph.open(await onCpu(runtime), file, source, signature);
  const feeds = [...inputs, ...optional.filter((name) => graph.has(name))].map((name) => {
    const dims = graph.input(name).shape.map((size, axis) => {
      if (typeof size === "number") return size;
      if (axis === 0) return 2;
      return name === "sample" ? 16 : 5;
    });
    const length = dims.reduce((all, size) => all * size, 1);
    return [name, [Float32Array.from({ length }, (_, i) => Math.sin(i)), dims]] as const;
  });
  try {
    return (await graph.run(Object.fromEntries(feeds), "out_sample")).data;
  } finally {
    await graph.release();
  }
}

/** A folder of links to files of another one that have no names of their own. */
async function linksTo(folder: string, hub: string): Promise<string> {
  const [blobs, snapshot] = [join(hub, "blobs"), join(hub, "snapshots/main")];
  await mkdir(blobs, { recursive: true });
  for (const [i, entry] of (
    await readdir(folder, { recursive: true, withFileTypes: true })
  ).entries()) {
    if (!entry.isFile()) continue;
    const blob = join(blobs, `${i}`);
    await copyFile(join(entry.parentPath, entry.name), blob);
    const link = join(snapshot, relative(folder, entry.parentPath), entry.name);
    await mkdir(dirname(link), { recursive: true });
    await symlink(blob, link);
  }
  return snapshot;
}

describe("attention as exporters write it", () => {
  it.each<[Layout, string, number]>([
    ["sd15", "unet", 8],
    ["sdxl", "unet", 16],
    ["turbo", "unet", 8],
    ["lcm", "unet", 8],
    ["sd15", "vae_decoder", 1],
  ])("becomes one node, all of it: %s, %s", async (layout, part, softmaxes) => {
    const file = readOnnx(models.folder(layout), `${part}/model.onnx`);
    expect(count(file, "Softmax")).toBe(softmaxes);
    const fused = await reread(rewriteOnnx(file, { nodes: fuseAttention(file) }), file);
    expect(count(fused, "Softmax")).toBe(0);
    expect(count(fused, "MultiHeadAttention")).toBe(softmaxes);
    // Axes are exchanged for it no more, not even to ask for a head's size.
    expect(count(fused, "Transpose")).toBe(count(file, "Transpose") - 4 * softmaxes);
    expect(fused.domains).toContain(ownOperators);
  });

  it("becomes one node in the model that comes with this", () => {
    const file = readOnnx(embedded, "unet/model.onnx");
    const edits = [...fuseAttention(file).values()].map((bytes) => bytes.toString());
    const added = edits.filter((bytes) => bytes.includes("MultiHeadAttention"));
    expect(added.length).toBe(count(file, "Softmax"));
    expect(added.length).toBeGreaterThan(0);
  });

  it("gives what it gave", async () => {
    for (const folder of [models.folder("sdxl"), models.folder("lcm"), embedded]) {
      const file = readOnnx(folder, "unet/model.onnx");
      const plain = await resultOf(file, file.path);
      const fused = await resultOf(file, rewriteOnnx(file, { nodes: fuseAttention(file) }));
      expect(new Set(plain).size).toBeGreaterThan(plain.length / 2);
      expect(apart(fused, plain)).toBeLessThan(1e-5);
    }
  });

  it("leaves weights in the file where they are, and finds them there", async () => {
    const file = readOnnx(models.folder("sd15"), "unet/model.onnx");
    const large = file.initializers.filter(
      ({ data }) => data && data.at.end - data.at.start > 1024,
    );
    expect(large.length).toBeGreaterThan(0);
    expect(large.every(({ data }) => data?.file === undefined)).toBe(true);
    const fused = await reread(rewriteOnnx(file, { nodes: fuseAttention(file) }), file);
    for (const { name, data } of large) {
      const found = fused.initializers.find((weight) => weight.name === name);
      expect(found?.data).toEqual({ file: "model.onnx", at: data?.at });
    }
  });

  it.each<Layout>(["sd15", "sdxl"])(
    "finds weights behind links, as in Hugging Face's cache: %s",
    async (layout) => {
      const linked = await linksTo(models.folder(layout), join(directory, `hub-${layout}`));
      const pipelines = [models.folder(layout), linked].map((folder) =>
        Pipeline.load(runtime, { folder, threads: 1 }),
      );
      const drawn: Float32Array[] = [];
      for (const loading of pipelines) {
        const pipeline = await loading;
        expect(pipeline.unfused).toBeUndefined();
        const path = join(models.folder(layout), "loras/plain.safetensors");
        for (const loras of [[], [{ id: "plain", path, weight: 1 }]]) {
          drawn.push(await pipeline.denoise(jobOf({ steps: 2, loras }), noiseOf(1)));
        }
        await pipeline.close();
      }
      expect(drawn[2]).toEqual(drawn[0]);
      expect(drawn[3]).toEqual(drawn[1]);
      expect(drawn[1]).not.toEqual(drawn[0]);
    },
  );

  it("takes no memory for every pair of places", async () => {
    const pipeline = await Pipeline.load(runtime, { folder: models.folder("sd15"), threads: 2 });
    const before = process.resourceUsage().maxRSS;
    // 16,384 places, since its latents are half as wide as the picture: 1 GB of scores for each of its heads.
    await pipeline.denoise(jobOf({ width: 256, height: 256, steps: 1 }), noiseOf(1));
    await pipeline.close();
    expect((process.resourceUsage().maxRSS - before) / 1024).toBeLessThan(1024);
  });
});

async function fileOf(name: string, form: Form): Promise<OnnxFile> {
  await writeAttention(join(directory, `${name}.onnx`), form);
  return readOnnx(directory, `${name}.onnx`);
}

describe("attention of other forms", () => {
  it.each<[string, Form]>([
    ["another axis", { axis: 2 }],
    ["another axis, folded", { axis: 1, folded: true }],
    ["the key's axes in another order", { keyOrder: [0, 2, 1, 3] }],
    ["a mask", { masked: true }],
    ["as many heads as remain", { queryShape: [0, 0, -1, 4] }],
    ["another number of heads", { queryShape: [0, 0, 4, 2] }],
    ["a scale of the number of places", { root: -2 }],
    ["scores that all come to nothing", { divisor: Number.POSITIVE_INFINITY }],
    ["a graph inside of a node", { branch: true }],
  ])("stays as it is: %s", async (name, form) => {
    expect(fuseAttention(await fileOf(name, form)).size).toBe(0);
  });

  it.each<[string, Form, readonly string[]]>([
    ["without a scale, and the softmax wanted elsewhere", { scoresToo: true }, ["out", "weights"]],
    ["with a scale of its own", { divisor: 3 }, ["out"]],
    ["with the usual scale and one of its own", { root: -1, divisor: 3 }, ["out"]],
    ["with heads folded into the batch, and its shape wanted", { folded: true }, ["out", "rows"]],
  ])("becomes one node and gives what it gave: %s", async (name, form, outputs) => {
    const file = await fileOf(name, form);
    const nodes = fuseAttention(file);
    const added = [...nodes.values()].map(String).join("");
    expect(added.split("MultiHeadAttention").length).toBe(2);
    const inputs = ["q", "k", "v"];
    const numbers = (of: number) => Float32Array.from({ length: 24 }, (_, i) => Math.sin(i * of));
    const feeds = Object.fromEntries(
      inputs.map((input, i) => [input, [numbers(i + 1), [1, 3, 8]] as const]),
    );
    const results: number[][] = [];
    for (const source of [file.path, rewriteOnnx(file, { nodes })]) {
      const graph = await Graph.open(await onCpu(runtime), file, source, { inputs, outputs });
      results.push((await graph.runAll(feeds, outputs)).flatMap(({ data }) => [...data]));
      await graph.release();
    }
    expect(new Set(results[0]).size).toBeGreaterThan(20);
    expect(apart(results[1] ?? [], results[0] ?? [])).toBeLessThan(1e-6);
  });
});

describe("where ONNX Runtime can't do with its own operator", () => {
  it.each(["", "?later"])(
    "attention runs as the files have it, and the log says so%s",
    async (when) => {
      const packages = {
        ...enginePackages,
        runtime: new URL(`onnx/no-attention-runtime.js${when}`, import.meta.url).href,
      };
      const log = { ...silent, warn: vi.fn() };
      const config = {
        type: "onnx",
        name: "images",
        path: models.folder("sd15"),
        threads: 1,
      } as const;
      const backend = createOnnxBackend(config, { log }, packages);
      await backend.ready?.("sd15", never);
      expect(backend.models()[0]?.state).toBe(State.READY);
      expect(log.warn).toHaveBeenCalledExactlyOnceWith(
        expect.objectContaining({
          model: "sd15",
          why: expect.stringContaining("MultiHeadAttention"),
        }),
        "attention runs as the files have it",
      );
      await backend.close();
    },
  );
});
