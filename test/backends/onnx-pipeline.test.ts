/** The image pipeline on small models, in the thread of the test. */
import { readFileSync } from "node:fs";
import { cp, mkdtemp, readFile, rename, rm, truncate, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { PNG } from "pngjs";
import {
  afterAll,
  afterEach,
  beforeAll,
  beforeEach,
  describe,
  expect,
  it,
  onTestFinished,
} from "vitest";
import { noiseOf } from "../../src/backends/onnx/noise.js";
import { Pipeline } from "../../src/backends/onnx/pipeline.js";
import { ModelProblem } from "../../src/backends/onnx/problem.js";
import type { ImageEvent, ImageJob } from "../../src/backends/onnx/protocol.js";
import { loadRuntime } from "../../src/backends/onnx/runtime.js";
import { folderOf, jobOf } from "./onnx/support.js";

/** All that a job does. */
async function eventsOf(
  pipeline: Pipeline,
  changes: Partial<ImageJob> = {},
  checkpoint = () => {},
) {
  const events: ImageEvent[] = [];
  await pipeline.run(jobOf(changes), (event) => events.push(event), checkpoint);
  return events;
}

/** PNG files of a job, in hex. */
async function imagesOf(pipeline: Pipeline, changes: Partial<ImageJob> = {}): Promise<string[]> {
  const events = await eventsOf(pipeline, changes);
  return events.flatMap((e) => (e.type === "image" ? [Buffer.from(e.data).toString("hex")] : []));
}

it("previews that could not be made once are made by the next job", async () => {
  const { InferenceSession, ...runtime } = await loadRuntime();
  let short = false;
  const create = async (...args: Parameters<typeof InferenceSession.create>) => {
    const session = await InferenceSession.create(...args);
    const run = session.run.bind(session);
    session.run = async (feeds: Parameters<typeof run>[0], ...more: []) => {
      if (short && "latent_sample" in feeds) throw new Error("Failed to allocate memory");
      return run(feeds, ...more);
    };
    return session;
  };
  const failing = { ...runtime, InferenceSession: { create } as typeof InferenceSession };
  const pipeline = await Pipeline.load(failing, { folder: folderOf("tiny"), threads: 1 });
  onTestFinished(() => pipeline.close());
  short = true;
  await expect(eventsOf(pipeline, { previews: true })).rejects.toThrow("ran out of memory");
  short = false;
  const [first] = await eventsOf(pipeline, { previews: true });
  expect(first).toMatchObject({ type: "progress", preview: expect.any(Uint8Array) });
});

describe.each(["tiny", "half"] as const)("the pipeline with the model %s", (name) => {
  let pipeline: Pipeline;
  beforeAll(async () => {
    pipeline = await Pipeline.load(await loadRuntime(), { folder: folderOf(name), threads: 1 });
  });
  afterAll(() => pipeline.close());

  it("makes the same bytes of the same seed, and others of another", async () => {
    const [first] = await imagesOf(pipeline);
    expect(await imagesOf(pipeline)).toEqual([first]);
    expect(await imagesOf(pipeline, { seed: 2 })).not.toEqual([first]);
  });

  it("makes image i of seed + i, whatever stands around it", async () => {
    const three = await imagesOf(pipeline, { images: 3, seed: 2 ** 32 - 1 });
    expect(new Set(three).size).toBe(3);
    expect(await imagesOf(pipeline, { images: 2, seed: 0 })).toEqual(three.slice(1));
    const events = await eventsOf(pipeline, { images: 3, seed: 2 ** 32 - 1 });
    expect(events.flatMap((e) => (e.type === "image" ? [[e.index, e.seed]] : []))).toEqual([
      [0, 2 ** 32 - 1],
      [1, 0],
      [2, 1],
    ]);
  });

  it("follows the prompt, and the negative prompt only with guidance", async () => {
    const [plain] = await imagesOf(pipeline);
    expect(await imagesOf(pipeline, { prompt: "a green square" })).not.toEqual([plain]);
    expect(await imagesOf(pipeline, { negativePrompt: "blue" })).not.toEqual([plain]);
    for (const guidanceScale of [0, 0.5, 1]) {
      const without = await imagesOf(pipeline, { guidanceScale });
      expect(await imagesOf(pipeline, { guidanceScale, negativePrompt: "blue" })).toEqual(without);
    }
    // At a scale of 1 both halves would give what one does; just above, nearly so.
    const size = { width: 64, height: 64 };
    const one = await pipeline.denoise(jobOf({ ...size, guidanceScale: 1 }), noiseOf(1));
    const above = await pipeline.denoise(jobOf({ ...size, guidanceScale: 1.0001 }), noiseOf(1));
    const tolerance = name === "half" ? 0.05 : 0.001;
    one.forEach((value, i) => {
      expect(Math.abs(value - (above[i] ?? 0))).toBeLessThan(tolerance);
    });
  });

  it("tells each step, then the image", async () => {
    const events = await eventsOf(pipeline, { images: 2 });
    const shown = events.map((e) => (e.type === "progress" ? `${e.index}/${e.step}` : e.type));
    expect(shown).toEqual(["0/1", "0/2", "0/3", "image", "1/1", "1/2", "1/3", "image"]);
  });

  it.each([
    [64, 64],
    [72, 64],
    [200, 120],
    [2048, 64],
  ])("makes pictures of %i x %i pixels", async (width, height) => {
    const [hex = ""] = await imagesOf(pipeline, { width, height, steps: 1 });
    const png = PNG.sync.read(Buffer.from(hex, "hex"));
    expect([png.width, png.height]).toEqual([width, height]);
  });

  it("stops between steps, wherever that is", async () => {
    let calls = 0;
    await eventsOf(pipeline, { images: 2 }, () => calls++);
    for (let stop = 1; stop <= calls; stop++) {
      let left = stop;
      const stopped = eventsOf(pipeline, { images: 2 }, () => {
        if (--left === 0) throw new Error("stop");
      });
      await expect(stopped).rejects.toThrow("stop");
    }
    // Before each step, before the picture is decoded, and before it is written.
    expect(calls).toBe(2 * (3 + 2));
  });

  it("cuts a prompt that is too long, keeps its end mark, and says so", async () => {
    const events = await eventsOf(pipeline, { prompt: "red ".repeat(7), negativePrompt: "a a" });
    expect(events.filter((e) => e.type === "warning")).toEqual([
      { type: "warning", text: "prompt: cut to the model's 8 tokens" },
    ]);
    // Six words and the two marks fill the eight tokens.
    const six = await imagesOf(pipeline, { prompt: "red ".repeat(6) });
    expect(await imagesOf(pipeline, { prompt: `${"red ".repeat(6)}green blue` })).toEqual(six);
    expect(await imagesOf(pipeline, { prompt: "red ".repeat(5) })).not.toEqual(six);
    const fits = await eventsOf(pipeline, { prompt: "red ".repeat(6) });
    expect(fits.filter((e) => e.type === "warning")).toEqual([]);
  });

  it("takes a prompt of a megabyte, and one that is empty", async () => {
    const long = await eventsOf(pipeline, { prompt: "x".repeat(1_000_000), steps: 1 });
    expect(long.map((e) => e.type)).toEqual(["warning", "progress", "image"]);
    expect(await imagesOf(pipeline, { prompt: "", steps: 1 })).toHaveLength(1);
  });
});

describe("a folder with something wrong", () => {
  const swap = (a: string, b: string) => (folder: string) => cp(join(folder, a), join(folder, b));
  const edit = (file: string, change: object) => async (folder: string) => {
    const json = JSON.parse(await readFile(join(folder, file), "utf8"));
    await writeFile(join(folder, file), JSON.stringify({ ...json, ...change }));
  };
  const remove = (file: string) => (folder: string) => rm(join(folder, file), { recursive: true });

  let root: string;
  beforeEach(async () => {
    root = await mkdtemp(join(tmpdir(), "lintel-onnx-"));
  });
  afterEach(() => rm(root, { recursive: true }));

  it.each([
    ["no folder", remove(""), /^the model's folder does not exist$/],
    ["no index", remove("model_index.json"), /^model_index.json: is missing$/],
    [
      "a file in its place",
      async (folder: string) => {
        await rm(folder, { recursive: true });
        await writeFile(folder, "");
      },
      /^model: is neither a folder of ONNX files nor a GGUF file$/,
    ],
    [
      "a folder with a checkpoint in one file",
      async (folder: string) => {
        await rm(join(folder, "model_index.json"));
        await writeFile(join(folder, "v1-5.safetensors"), "");
      },
      /^v1-5.safetensors: weights for PyTorch can't be run, only folders .* docs\/models.md tells/,
    ],
    [
      "a folder that was not exported",
      async (folder: string) => {
        const unet = join(folder, "unet");
        await rename(join(unet, "model.onnx"), join(unet, "diffusion_pytorch_model.safetensors"));
        await rm(join(folder, "vae_decoder"), { recursive: true });
      },
      /^unet\/diffusion_pytorch_model.safetensors: weights for PyTorch can't be run/,
    ],
    [
      "weights for PyTorch beside those of ONNX, which are no mistake",
      async (folder: string) => {
        const unet = join(folder, "unet");
        await writeFile(join(unet, "diffusion_pytorch_model.safetensors"), "");
        await rm(join(folder, "tokenizer"), { recursive: true });
      },
      /^tokenizer\/tokenizer.json: is missing$/,
    ],
    ["no UNet", remove("unet/model.onnx"), /^unet\/model.onnx: is missing$/],
    ["no folder of the decoder", remove("vae_decoder"), /^vae_decoder\/config.json: is missing$/],
    ["no tokenizer", remove("tokenizer"), /^tokenizer\/tokenizer.json: is missing$/],
    [
      "a cut UNet",
      (folder: string) => truncate(join(folder, "unet/model.onnx"), 1500),
      /^unet\/model.onnx: is cut short: it has 1500 of at least 3\d{3} bytes$/,
    ],
    [
      "an empty decoder",
      (folder: string) => truncate(join(folder, "vae_decoder/model.onnx"), 0),
      /^vae_decoder\/model.onnx: is empty$/,
    ],
    [
      "text for a model",
      (folder: string) => writeFile(join(folder, "text_encoder/model.onnx"), "<html></html>"),
      /^text_encoder\/model.onnx: is not an ONNX file$/,
    ],
    [
      "broken JSON",
      (folder: string) => writeFile(join(folder, "unet/config.json"), "{"),
      /^unet\/config.json: is not valid JSON$/,
    ],
    [
      "the wrong ONNX file",
      swap("vae_decoder/model.onnx", "unet/model.onnx"),
      /^unet\/model.onnx: has no input sample, but latent_sample$/,
    ],
    [
      "another kind of pipeline",
      edit("model_index.json", { _class_name: "FluxPipeline" }),
      /^model_index.json: _class_name: pipeline FluxPipeline is not supported/,
    ],
    [
      "an unknown scheduler",
      edit("scheduler/scheduler_config.json", { _class_name: "FooScheduler" }),
      /^scheduler\/scheduler_config.json: scheduler FooScheduler is not supported/,
    ],
    [
      "the wrong number of channels",
      edit("unet/config.json", { in_channels: 5 }),
      /^unet\/model.onnx: failed: .*Got: 5 Expected: 4/,
    ],
    [
      "a tokenizer of unknown kind",
      edit("tokenizer/tokenizer.json", { pre_tokenizer: { type: "Telepathy" } }),
      /^tokenizer\/tokenizer.json: is of a kind that is not supported$/,
    ],
    [
      "the wrong factor",
      edit("vae_decoder/config.json", { block_out_channels: [8, 8, 8, 8, 8] }),
      /^vae_decoder\/model.onnx: gives a tensor of shape \[1,3,16,16\] for 32x32 pixels$/,
    ],
  ])("is refused with the file's name: %s", async (_, damage, message) => {
    const folder = join(root, "model");
    await cp(folderOf("tiny"), folder, { recursive: true });
    await damage(folder);
    const error = await Pipeline.load(await loadRuntime(), { folder, threads: 1 }).catch(
      (e: Error) => e,
    );
    expect(error).toBeInstanceOf(ModelProblem);
    expect((error as Error).message).toMatch(message);
    expect((error as Error).message).not.toContain(root);
    expect((error as Error).message).not.toMatch(/onnxruntime_src|\.cc/);
  });

  it("a checkpoint in its place", async () => {
    const folder = join(root, "v1-5.CKPT");
    await writeFile(folder, "");
    await expect(Pipeline.load(await loadRuntime(), { folder, threads: 1 })).rejects.toThrow(
      /^v1-5.CKPT: weights for PyTorch can't be run/,
    );
  });
});

describe("the embedded model", () => {
  const models = fileURLToPath(new URL("../../models/image/", import.meta.url));
  const file = (name: string) => readFileSync(`${models}fixtures/${name}`);
  const floats = (name: string) => {
    const bytes = file(name);
    return new Float32Array(bytes.buffer.slice(bytes.byteOffset, bytes.byteOffset + bytes.length));
  };
  const wanted = JSON.parse(file("case.json").toString());
  const job = {
    prompt: wanted.prompt,
    negativePrompt: wanted.negative_prompt,
    bar: false,
    loras: [],
    width: wanted.width,
    height: wanted.height,
    steps: wanted.num_inference_steps,
    guidanceScale: wanted.guidance_scale,
  };
  const noise = (out: Float32Array) => out.set(floats("noise.f32"));

  let pipeline: Pipeline;
  beforeAll(async () => {
    pipeline = await Pipeline.load(await loadRuntime(), {
      folder: `${models}lintel-image`,
      threads: 1,
    });
  });
  afterAll(() => pipeline.close());

  it.each([
    [wanted.guidance_scale, "latents.f32"],
    [1, "latents_guidance_1.f32"],
  ])("gives the latents of the reference at guidance %d", async (guidanceScale, name) => {
    const latents = await pipeline.denoise({ ...job, guidanceScale }, noise);
    const reference = floats(name);
    const largest = Math.max(...reference.map(Math.abs));
    expect(latents).toHaveLength(reference.length);
    latents.forEach((value, i) => {
      expect(Math.abs(value - (reference[i] ?? 0)) / largest).toBeLessThan(1e-3);
    });
  });

  it.each([
    [wanted.width, wanted.height, "picture.rgb"],
    [wanted.odd_picture_shape[2], wanted.odd_picture_shape[1], "picture_104x56.rgb"],
  ])("gives the picture of the reference at %i x %i", async (width, height, name) => {
    const rgb = await pipeline.decode(floats("latents.f32"), { width, height });
    const reference = file(name);
    expect(rgb).toHaveLength(reference.length);
    const far = rgb.filter((value, i) => Math.abs(value - (reference[i] ?? 0)) > 2);
    expect([...far]).toEqual([]);
  });
});
