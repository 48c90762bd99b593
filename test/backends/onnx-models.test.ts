/** What the list of models says of image models, without loading them. */
import { mkdir, mkdtemp, readdir, readFile, rm, stat, symlink, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { basename, join } from "node:path";
import { afterAll, beforeAll, describe, expect, it, onTestFinished } from "vitest";
import { PromptBar } from "../../gen/lintel/v1/models_pb.js";
import { coreOf, run } from "../support/core.js";
import { open, progressOf } from "./onnx/calls.js";
import { ParityModels } from "./onnx/parity.js";
import { type backendOf, requestOf } from "./onnx/support.js";

describe("what the list says of a model", () => {
  let models: ParityModels;
  beforeAll(async () => {
    models = await ParityModels.unpack("sdxl", "turbo", "lcm");
  });
  afterAll(() => models.remove());

  const modelOf = (...from: Parameters<typeof backendOf>) => {
    const [model] = open(from[0], from[1], { load: "lazy", ...from[2] }).models();
    if (!model) throw new Error("no model");
    return model;
  };

  it("is its folder and the size of its files", async () => {
    const model = modelOf(models.folder("sdxl"));
    expect(model).toMatchObject({ source: models.folder("sdxl"), promptBar: PromptBar.BATCH });
    expect(Number(model.sizeBytes)).toBeGreaterThan(700_000);
    const without = await models.copy("sdxl", "no-loras");
    await rm(join(without, "loras"), { recursive: true });
    expect(modelOf(without).sizeBytes).toBe(model.sizeBytes);
    expect(modelOf(without).loras).toEqual([]);
  });

  it("is the size of what its files lead to, as they lie in Hugging Face's cache", async () => {
    const folder = models.folder("lcm");
    const snapshot = await mkdtemp(join(tmpdir(), "lintel-snapshot-"));
    onTestFinished(() => rm(snapshot, { recursive: true }));
    for (const name of await readdir(folder, { recursive: true })) {
      if ((await stat(join(folder, name))).isDirectory()) await mkdir(join(snapshot, name));
      else await symlink(join(folder, name), join(snapshot, name));
    }
    await symlink(join(folder, "gone"), join(snapshot, "gone"));
    expect(modelOf(snapshot).sizeBytes).toBe(modelOf(folder).sizeBytes);
  });

  it("is how many steps and how much guidance a model for few steps takes", async () => {
    expect(modelOf(models.folder("turbo")).defaults).toEqual({
      guidance_scale: 0,
      num_inference_steps: 4,
    });
    expect(modelOf(models.folder("lcm")).defaults).toEqual({ num_inference_steps: 4 });
    const prefixed = await models.copy("lcm", "prefixed");
    const file = join(prefixed, "model_index.json");
    const index = JSON.parse(await readFile(file, "utf8"));
    for (const prefix of ["ORT", "Onnx"]) {
      const _class_name = `${prefix}LatentConsistencyModelPipeline`;
      await writeFile(file, JSON.stringify({ ...index, _class_name }));
      expect(modelOf(prefixed).defaults).toEqual({ num_inference_steps: 4 });
    }
    expect(modelOf(models.folder("sdxl")).defaults).toEqual({});
    expect(basename(models.folder("turbo"))).toBe("turbo");
  });

  it("is that a bar separates texts for its encoders, where it is set so", async () => {
    const backend = open(models.folder("sdxl"), undefined, { prompt: "encoders" });
    expect(backend.models()[0]?.promptBar).toBe(PromptBar.ENCODERS);
    const ask = async (prompt: string, negativePrompt = "") => {
      const changes = { modelId: "", width: 64, height: 64, numInferenceSteps: 1 };
      const request = requestOf({ ...changes, prompt, negativePrompt });
      const [response] = await run(coreOf([backend]), "textToImage", request);
      return response?.images.map(({ data }) => Buffer.from(data).toString("hex"));
    };
    const both = await ask("a red circle | the blue square");
    expect(both).toHaveLength(1);
    expect(both).not.toEqual(await ask("a red circle"));
    // The first stands in for the second where that is empty.
    expect(await ask("a red circle |")).toEqual(await ask("a red circle"));
    await expect(ask("a | b | c")).rejects.toMatchObject({
      code: "invalid_value",
      param: "prompt",
      message: "prompt: has 3 parts, but this model has text encoders for 2",
    });
    await expect(ask("a", "x | y | z")).rejects.toMatchObject({
      code: "invalid_value",
      param: "negative_prompt",
      message: "negative_prompt: has 3 parts, but this model has text encoders for 2",
    });
  });

  it("refuses steps that a scheduler can't take, by name", async () => {
    const backend = open(models.folder("lcm"));
    await expect(progressOf(backend, { numInferenceSteps: 51 })).rejects.toMatchObject({
      code: "invalid_value",
      param: "num_inference_steps",
      message: "num_inference_steps: must be at most 50 for this model",
    });
  });
});
