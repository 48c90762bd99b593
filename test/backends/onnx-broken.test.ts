/** Folders of real layouts with something wrong: the error names the file, and nothing else breaks. */
import { readFile, rm, truncate, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { afterAll, beforeAll, expect, it } from "vitest";
import { Pipeline } from "../../src/backends/onnx/pipeline.js";
import { ModelProblem } from "../../src/backends/onnx/problem.js";
import { loadRuntime, type Runtime } from "../../src/backends/onnx/runtime.js";
import { type Layout, ParityModels } from "./onnx/parity.js";

let models: ParityModels;
let runtime: Runtime;
beforeAll(async () => {
  models = await ParityModels.unpack("sd15", "sdxl");
  runtime = await loadRuntime();
});
afterAll(() => models.remove());

const remove = (file: string) => (folder: string) => rm(join(folder, file), { recursive: true });
const cut = (file: string, size: number) => (folder: string) => truncate(join(folder, file), size);
const edit = (file: string, change: object) => async (folder: string) => {
  const json = JSON.parse(await readFile(join(folder, file), "utf8"));
  await writeFile(join(folder, file), JSON.stringify({ ...json, ...change }));
};

it.each<[string, Layout, (folder: string) => Promise<unknown>, RegExp]>([
  [
    "no weights beside the UNet",
    "sdxl",
    remove("unet/model.onnx_data"),
    /^unet\/model.onnx_data: is missing, and unet\/model.onnx has its weights there$/,
  ],
  [
    "weights beside the UNet that are cut short",
    "sdxl",
    cut("unet/model.onnx_data", 50_000),
    /^unet\/model.onnx_data: is cut short: it has 50000 of at least \d+ bytes$/,
  ],
  [
    "a text encoder that is cut short",
    "sdxl",
    cut("text_encoder_2/model.onnx", 70_000),
    /^text_encoder_2\/model.onnx: is cut short: it has 70000 of at least 7\d{4} bytes$/,
  ],
  [
    "no second text encoder",
    "sdxl",
    remove("text_encoder_2/model.onnx"),
    /^text_encoder_2\/model.onnx: is missing$/,
  ],
  [
    "no second tokenizer",
    "sdxl",
    remove("tokenizer_2"),
    /^tokenizer_2\/tokenizer.json: is missing$/,
  ],
  [
    "an encoder that hides its states",
    "sdxl",
    async (folder) => {
      // What SD 1.5's encoder gives is not enough.
      const own = await readFile(join(models.folder("sd15"), "text_encoder/model.onnx"));
      await writeFile(join(folder, "text_encoder/model.onnx"), own);
    },
    /^text_encoder\/model.onnx: does not give its hidden states, but last_hidden_state, pooler/,
  ],
  [
    "the wrong class",
    "sdxl",
    edit("model_index.json", { _class_name: "StableDiffusionPipeline" }),
    /^unet\/model.onnx: is of the SDXL layout, and model_index.json says something else$/,
  ],
  ["no merges", "sd15", remove("tokenizer/merges.txt"), /^tokenizer\/merges.txt: is missing$/],
  [
    "a vocabulary without marks",
    "sd15",
    (folder) => writeFile(join(folder, "tokenizer/vocab.json"), '{"a": 0}'),
    /^tokenizer\/vocab.json: has no <\|startoftext\|>$/,
  ],
  [
    "a checker that is something else",
    "sd15",
    async (folder) => {
      const other = await readFile(join(folder, "vae_decoder/model.onnx"));
      await writeFile(join(folder, "safety_checker/model.onnx"), other);
    },
    /^safety_checker\/model.onnx: has no input clip_input, but latent_sample$/,
  ],
  [
    "a way to look at pictures that is not known",
    "sd15",
    edit("feature_extractor/preprocessor_config.json", { resample: 2 }),
    /^feature_extractor\/preprocessor_config.json: resample: only bicubic/,
  ],
  [
    "settings of a scheduler that are not supported",
    "sd15",
    edit("scheduler/scheduler_config.json", { use_beta_sigmas: true }),
    /^scheduler\/scheduler_config.json: use_beta_sigmas: beta sigmas are not supported$/,
  ],
])("is refused with the file's name: %s", async (_, layout, damage, message) => {
  const folder = await models.copy(layout, "broken");
  try {
    await damage(folder);
    const error = await Pipeline.load(runtime, { folder, threads: 1 }).catch((e: Error) => e);
    expect(error).toBeInstanceOf(ModelProblem);
    expect((error as Error).message).toMatch(message);
    expect((error as Error).message).not.toContain(folder);
  } finally {
    await rm(folder, { recursive: true });
  }
});

it("is refused before it is loaded where there is too little memory for it", async () => {
  const folder = models.folder("sdxl");
  const load = (freeMemory: number) => Pipeline.load(runtime, { folder, threads: 1, freeMemory });
  await expect(load(200e6)).rejects.toThrow(
    /^unet\/model.onnx: about 0.3 GB of memory are needed, and 0.2 GB are free$/,
  );
  await (await load(300e6)).close();
});

it("reads a scheduler's infinity, which Python writes and JSON does not have", async () => {
  const folder = await models.copy("sd15", "infinite");
  const path = join(folder, "scheduler/scheduler_config.json");
  const config = '{"_class_name": "DPMSolverMultistepScheduler", "lambda_min_clipped": -Infinity}';
  await writeFile(path, config);
  await (await Pipeline.load(runtime, { folder, threads: 1 })).close();
});
