import { rmSync } from "node:fs";
/** LoRAs: what their names mean, what becomes of broken files, and what stays in memory. */
import { copyFile, mkdir, readFile, rm, truncate, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { readOnnx } from "../../src/backends/onnx/file/onnx.js";
import { numbersOf, rewriteOnnx } from "../../src/backends/onnx/file/rewrite.js";
import { fromHalf, toHalf } from "../../src/backends/onnx/float16.js";
import { Graph } from "../../src/backends/onnx/graph.js";
import { Adder } from "../../src/backends/onnx/lora/adder.js";
import { modulesOf } from "../../src/backends/onnx/lora/modules.js";
import { flatten, fromStability, nameOf } from "../../src/backends/onnx/lora/names.js";
import { noiseOf } from "../../src/backends/onnx/noise.js";
import { Pipeline } from "../../src/backends/onnx/pipeline.js";
import type { ImageEvent } from "../../src/backends/onnx/protocol.js";
import { loadRuntime, type Runtime } from "../../src/backends/onnx/runtime.js";
import { signatures } from "../../src/backends/onnx/weights.js";
import type { ResidentBackend } from "../../src/backends/resident.js";
import { never } from "../support/calls.js";
import { coreOf, run } from "../support/core.js";
import { loraOf, numbers, writeSafetensors } from "./onnx/lora-file.js";
import { ParityModels } from "./onnx/parity.js";
import { backendOf, jobOf, onCpu, requestOf } from "./onnx/support.js";

let models: ParityModels;
let runtime: Runtime;
beforeAll(async () => {
  models = await ParityModels.unpack("sd15", "sdxl");
  runtime = await loadRuntime();
});
afterAll(() => models.remove());

describe("names in LoRA files", () => {
  it.each([
    [
      "unet.mid_block.attentions.0.to_q.lora_A.weight",
      "unet",
      "mid_block.attentions.0.to_q",
      "down",
    ],
    ["unet.mid_block.resnets.0.conv1.lora.up.weight", "unet", "mid_block.resnets.0.conv1", "up"],
    ["text_encoder_2.a.q_proj.lora_linear_layer.down.weight", "text_encoder_2", "a.q_proj", "down"],
    [
      "text_encoder.a.self_attn.to_out_lora.up.weight",
      "text_encoder",
      "a.self_attn.out_proj",
      "up",
    ],
    ["unet.a.attn1.processor.to_out_lora.down.weight", "unet", "a.attn1.to_out.0", "down"],
    ["down_blocks.0.attn1.processor.to_k_lora.up.weight", "unet", "down_blocks.0.attn1.to_k", "up"],
    [
      "base_model.model.down_blocks.0.conv.lora_B.default.weight",
      "unet",
      "down_blocks.0.conv",
      "up",
    ],
    [
      "lora_unet_mid_block_resnets_0_conv1.lora_down.weight",
      "unet",
      "mid_block_resnets_0_conv1",
      "down",
    ],
    ["lora_te_a_q_proj.alpha", "text_encoder", "a_q_proj", "alpha"],
    ["lora_te1_a.lora_up.weight", "text_encoder", "a", "up"],
    ["lora_te2_a.lora_up.weight", "text_encoder_2", "a", "up"],
  ])("are understood: %s", (key, part, module, role) => {
    expect(nameOf(key)).toMatchObject({ part, module, role });
  });

  it("may be of something else", () => {
    expect(nameOf("unet.conv_in.weight")).toBeUndefined();
  });

  // SDXL has two resnets a block, and attention in its second and third.
  it.each([
    ["input_blocks_0_0", "conv_in"],
    ["input_blocks_1_0_in_layers_2", "down_blocks_0_resnets_0_conv1"],
    ["input_blocks_3_0_op", "down_blocks_0_downsamplers_0_conv"],
    ["input_blocks_4_0_skip_connection", "down_blocks_1_resnets_0_conv_shortcut"],
    ["input_blocks_5_1_proj_in", "down_blocks_1_attentions_1_proj_in"],
    [
      "input_blocks_8_1_transformer_blocks_9_attn2_to_k",
      "down_blocks_2_attentions_1_transformer_blocks_9_attn2_to_k",
    ],
    ["middle_block_0_emb_layers_1", "mid_block_resnets_0_time_emb_proj"],
    [
      "middle_block_1_transformer_blocks_0_ff_net_0_proj",
      "mid_block_attentions_0_transformer_blocks_0_ff_net_0_proj",
    ],
    ["middle_block_2_out_layers_3", "mid_block_resnets_1_conv2"],
    ["output_blocks_0_1_proj_out", "up_blocks_0_attentions_0_proj_out"],
    ["output_blocks_2_2_conv", "up_blocks_0_upsamplers_0_conv"],
    ["output_blocks_8_0_in_layers_2", "up_blocks_2_resnets_2_conv1"],
    ["time_embed_2", "time_embedding_linear_2"],
    ["label_emb_0_0", "add_embedding_linear_1"],
    ["down_blocks_1_attentions_0_proj_in", "down_blocks_1_attentions_0_proj_in"],
  ])("of Stability's modules become those of diffusers: %s", (theirs, ours) => {
    expect(fromStability(theirs, 2)).toBe(ours);
  });
});

describe("modules of an exported model", () => {
  it("have the names that they had in PyTorch, linear layers too", () => {
    const modules = modulesOf(readOnnx(models.folder("sdxl"), "unet/model.onnx"));
    const names = [...modules.keys()];
    expect(names).toContain("down_blocks.1.attentions.0.transformer_blocks.1.attn2.to_out.0");
    expect(names).toContain("add_embedding.linear_1");
    expect(names).toContain("conv_in");
    expect(new Set(names.map(flatten)).size).toBe(names.length);
  });

  it("are told by their biases where nodes have no names", async () => {
    const folder = await models.copy("sd15", "nameless");
    const path = join(folder, "text_encoder/model.onnx");
    // Of the same length, so that nothing else changes: no node has a path for a name any more.
    const bytes = await readFile(path);
    const text = bytes.toString("latin1").replaceAll("/text_model/", "_text_model_");
    await writeFile(path, Buffer.from(text, "latin1"));
    const modules = modulesOf(readOnnx(folder, "text_encoder/model.onnx"));
    expect([...modules.keys()]).toContain("text_model.encoder.layers.0.self_attn.q_proj");
  });
});

describe("a rewritten model", () => {
  it("gives the same with its weights inside as with all of them in memory", async () => {
    const file = readOnnx(models.folder("sdxl"), "unet/model.onnx");
    const module = modulesOf(file).get("conv_in");
    if (!module) throw new Error("no conv_in");
    const bytes = numbersOf(file, module.weight);
    const numbers = new Float32Array(Uint8Array.from(bytes).buffer).map((x) => 2 * x);
    const replaced = new Map([[module.weight.name, new Uint8Array(numbers.buffer)]]);
    const inside = rewriteOnnx(file, { weights: replaced });
    const beside = rewriteOnnx(file, { weights: replaced }, 0);
    expect(inside.files).toBeUndefined();
    expect(beside.files?.length).toBeGreaterThan(100);
    const feeds = {
      sample: [Float32Array.from({ length: 256 }, (_, i) => Math.sin(i)), [1, 4, 8, 8]],
      timestep: [[7], []],
      encoder_hidden_states: [new Float32Array(256).fill(1), [1, 16, 16]],
      text_embeds: [new Float32Array(8), [1, 8]],
      time_ids: [
        [16, 16, 0, 0, 16, 16],
        [1, 6],
      ],
    } as const;
    const results: (readonly number[])[] = [];
    for (const source of [file.path, inside, beside]) {
      const graph = await Graph.open(await onCpu(runtime), file, source, signatures.unet);
      results.push([...(await graph.run(feeds, "out_sample")).data]);
      await graph.release();
    }
    expect(results[1]).toEqual(results[2]);
    expect(results[1]).not.toEqual(results[0]);
  });
});

describe("adding to weights", () => {
  it("keeps half precision, rounded once", async () => {
    const adder = await Adder.open(runtime, 10);
    const halves = toHalf(Float32Array.of(1, -2, 0.5, 1000));
    const up = { data: Float32Array.of(1, 2), rows: 2, columns: 1 };
    const down = { data: Float32Array.of(0.25, 4), rows: 1, columns: 2 };
    const sum = await adder.add(new Uint8Array(halves.buffer), up, down);
    await adder.release();
    const numbers = new Uint16Array(sum.slice().buffer);
    expect([...fromHalf(numbers)]).toEqual([1.25, 2, 1, 1008]);
  });
});

describe("pictures with LoRAs", () => {
  /** How many sessions were made, of files and of bytes. */
  const made = { files: 0, bytes: 0 };
  let pipeline: Pipeline;
  beforeAll(async () => {
    const create: Runtime["InferenceSession"]["create"] = (source: unknown, ...rest: unknown[]) => {
      made[typeof source === "string" ? "files" : "bytes"]++;
      // biome-ignore lint/suspicious/noExplicitAny: handed on as it came
      return (runtime.InferenceSession.create as any)(source, ...rest);
    };
    const counting = { ...runtime, InferenceSession: { create } as Runtime["InferenceSession"] };
    pipeline = await Pipeline.load(counting, { folder: models.folder("sd15"), threads: 1 });
  });
  afterAll(() => pipeline.close());

  const draw = async (loras: Readonly<Record<string, number>>) => {
    const uses = Object.entries(loras).map(([id, weight]) => ({
      id,
      path: join(models.folder("sd15"), "loras", `${id}.safetensors`),
      weight,
    }));
    const job = jobOf({ width: 24, height: 16, loras: uses });
    return Buffer.from((await pipeline.denoise(job, noiseOf(3))).buffer).toString("base64");
  };

  it("are those without where the weight is 0, to the last bit", async () => {
    const before = { ...made };
    const none = await draw({});
    expect(await draw({ plain: 0 })).toBe(none);
    expect(await draw({ plain: 0, kohya: 0 })).toBe(none);
    expect(made).toEqual(before);
  });

  it("change with the weight, and are the model's own again afterwards", async () => {
    const none = await draw({});
    const half = await draw({ plain: 0.5 });
    const whole = await draw({ plain: 1 });
    expect(new Set([none, half, whole]).size).toBe(3);
    expect(await draw({})).toBe(none);
  });

  it("need no further fusing while the combination stays, whatever stands in between", async () => {
    const first = await draw({ plain: 0.7, kohya: 0.2 });
    const before = { ...made };
    await draw({});
    expect(await draw({ kohya: 0.2, plain: 0.7 })).toBe(first);
    expect(made).toEqual(before);
    await draw({ kohya: 0.3 });
    expect(made.bytes).toBeGreaterThan(before.bytes);
    expect(await draw({ plain: 0.7, kohya: 0.2 })).toBe(first);
  });

  it.each<[string, object]>([
    ["does not fit", loraOf("unet.conv_in", [320, 4, 3, 3])],
    ["is of another kind", { "unet.conv_in.hada_w1_a": { shape: [1], data: [1] } }],
  ])("keep what is fused when one is refused that %s", async (_, tensors) => {
    const path = join(models.folder("sd15"), "loras", "refused.safetensors");
    await writeSafetensors(path, tensors as Parameters<typeof writeSafetensors>[1]);
    const first = await draw({ plain: 0.9 });
    const before = { ...made };
    await expect(draw({ refused: 1 })).rejects.toMatchObject({ param: "loras" });
    expect(await draw({ plain: 0.9 })).toBe(first);
    expect(made).toEqual(before);
    await rm(path);
  });

  it("are looked for once for all pictures of a job: a file may go meanwhile", async () => {
    const path = join(models.folder("sd15"), "loras", "going.safetensors");
    await copyFile(join(models.folder("sd15"), "loras", "plain.safetensors"), path);
    const loras = [{ id: "going", path, weight: 1 }];
    const job = jobOf({ width: 24, height: 16, steps: 1, images: 2, loras });
    const told: string[] = [];
    const note = ({ type }: ImageEvent) => {
      if (type === "image") rmSync(path, { force: true });
      told.push(type);
    };
    await pipeline.run(job, note, () => {});
    expect(told).toEqual(["progress", "image", "progress", "image"]);
  });

  it("see a file that was replaced", async () => {
    const loras = join(models.folder("sd15"), "loras");
    await copyFile(join(loras, "plain.safetensors"), join(loras, "changing.safetensors"));
    const before = await draw({ changing: 1 });
    await copyFile(join(loras, "kohya.safetensors"), join(loras, "changing.safetensors"));
    expect(await draw({ changing: 1 })).not.toBe(before);
    await rm(join(loras, "changing.safetensors"));
  });
});

describe("a model with LoRAs", () => {
  let backend: ResidentBackend;
  let loras: string;
  beforeAll(async () => {
    const folder = await models.copy("sd15", "with-loras");
    loras = join(folder, "loras");
    const further = join(folder, "further");
    await mkdir(further);
    await copyFile(join(loras, "plain.safetensors"), join(further, "more.safetensors"));
    await writeFile(join(loras, "notes.txt"), "not a LoRA");
    backend = backendOf(folder, undefined, { loras: [further] });
    await backend.ready?.("with-loras", never);
  });
  afterAll(() => backend.close());

  const ask = (ids: unknown) => {
    const changes = { modelId: "", width: 64, numInferenceSteps: 1 };
    const request = requestOf({ ...changes, loras: JSON.stringify(ids) });
    return run(coreOf([backend]), "textToImage", request).then(([response]) => response);
  };

  it("lists them by their files' names, and says that it takes them", () => {
    expect(backend.models()[0]?.loras).toEqual(["kohya", "older", "plain", "scaled", "more"]);
    expect(backend.models()[0]?.supports).toContain("loras");
  });

  it("refuses one that it does not have, by name", async () => {
    await expect(ask({ plain: 1, nonesuch: 1 })).rejects.toMatchObject({
      code: "invalid_value",
      param: "loras",
      message: expect.stringMatching(/this model has no "nonesuch", only kohya, older, plain/),
    });
  });

  it("finds one that was put there later", async () => {
    await copyFile(join(loras, "plain.safetensors"), join(loras, "late.safetensors"));
    expect((await ask({ late: 1 }))?.images).toHaveLength(1);
    expect(backend.models()[0]?.loras).toContain("late");
  });

  const refused = { code: "invalid_value", param: "loras" };
  const write = (name: string, tensors: Parameters<typeof writeSafetensors>[1]) =>
    writeSafetensors(join(loras, `${name}.safetensors`), tensors);
  /** One whose second factor is all of one large number. */
  const writeHuge = (layer: string, value: number) =>
    write("bad", {
      ...loraOf(layer, [4, 4, 3, 3]),
      [`${layer}.lora_B.weight`]: { shape: [4, 2, 1, 1], data: numbers(8, value) },
    });

  it.each<[string, () => Promise<unknown>, object]>([
    [
      "for another model",
      () => write("bad", loraOf("unet.transformer.layers.3", [4, 4])),
      {
        ...refused,
        message: /^loras: "bad" does not fit this model: this/,
      },
    ],
    [
      "of other sizes",
      () => write("bad", loraOf("unet.conv_in", [320, 4, 3, 3])),
      {
        ...refused,
        message: /its conv_in is 320 x 36 instead of 4 x 36/,
      },
    ],
    [
      "of another kind",
      () => write("bad", { "unet.conv_in.lora_magnitude_vector": { shape: [1], data: [1] } }),
      { ...refused, message: /^loras: loras\/bad.safetensors: DoRA is not supported/ },
    ],
    [
      "without any weights",
      () => write("bad", { "unet.conv_in.weight": { shape: [1], data: [1] } }),
      { ...refused, message: /^loras: loras\/bad.safetensors: has no weights of a LoRA$/ },
    ],
    ...[1000, 12_000].map(
      (size) =>
        [
          `that is cut short to ${size} bytes`,
          async () => {
            await copyFile(join(loras, "plain.safetensors"), join(loras, "bad.safetensors"));
            await truncate(join(loras, "bad.safetensors"), size);
          },
          {
            ...refused,
            message: new RegExp(`^loras: loras/bad.safetensors: is cut short: it has ${size} of`),
          },
        ] as [string, () => Promise<unknown>, object],
    ),
    [
      "that is something else",
      () => writeFile(join(loras, "bad.safetensors"), "PK\u0003\u0004 no such thing"),
      { ...refused, message: /^loras: loras\/bad.safetensors: is not a safetensors file$/ },
    ],
    [
      "of a type that is not known",
      async () => {
        await write("bad", loraOf("unet.conv_in", [4, 4, 3, 3]));
        const path = join(loras, "bad.safetensors");
        const bytes = (await readFile(path)).toString("latin1").replaceAll("F32", "F08");
        await writeFile(path, bytes, "latin1");
      },
      { ...refused, message: /^loras: loras\/bad.safetensors: .*: can't be read as F08$/ },
    ],
    [
      "with half of its factors",
      () => write("bad", { "unet.conv_in.lora_A.weight": { shape: [1, 36], data: numbers(36) } }),
      { ...refused, message: /conv_in: its two factors don't fit each other$/ },
    ],
    [
      "whose settings are nonsense",
      () =>
        writeSafetensors(join(loras, "bad.safetensors"), loraOf("unet.conv_in", [4, 4, 3, 3]), {
          lora_adapter_metadata: '{"unet.lora_alpha": "much"}',
        }),
      { ...refused, message: /its lora_adapter_metadata can't be read$/ },
    ],
    [
      "with which nothing can be drawn",
      () => writeHuge("unet.conv_in", 1e38),
      { ...refused, message: /^loras: with them the model gives values that are not finite/ },
    ],
    [
      "of which no picture can be decoded",
      () => writeHuge("unet.conv_out", 1e36),
      { ...refused, message: /^loras: with them the model gives values that are not finite/ },
    ],
  ])("says what is wrong with one %s, and works on", async (_, make, wanted) => {
    await make();
    const { message, ...rest } = wanted as { message: RegExp };
    const error = await ask({ bad: 1 }).catch((thrown: Error) => thrown);
    expect(error).toMatchObject(rest);
    expect((error as Error).message).toMatch(message);
    expect((error as Error).message).not.toContain(loras);
    expect((await ask({ plain: 1 }))?.images).toHaveLength(1);
  });

  it("takes alpha as a whole number, too", async () => {
    const pixels = async (dtype: "F32" | "I32" | "I64") => {
      const alpha = { "unet.conv_in.alpha": { shape: [], dtype, data: [1] } };
      await write(`alpha-${dtype}`, { ...loraOf("unet.conv_in", [4, 4, 3, 3]), ...alpha });
      const [image] = (await ask({ [`alpha-${dtype}`]: 1 }))?.images ?? [];
      return image?.data;
    };
    const whole = await pixels("F32");
    expect(whole?.length).toBeGreaterThan(0);
    expect(await pixels("I64")).toEqual(whole);
    expect(await pixels("I32")).toEqual(whole);
  });

  it("leaves out what the model does not have, and says so", async () => {
    await write("partly", {
      ...loraOf("unet.conv_in", [4, 4, 3, 3]),
      ...loraOf("unet.down_blocks.9.conv", [4, 4]),
    });
    expect((await ask({ partly: 1 }))?.warnings).toContainEqual(
      expect.stringMatching(/"partly": this model lacks 1 of its 2 modules/),
    );
  });

  it("leaves out what are no factors, and says so", async () => {
    await write("more-than-factors", {
      ...loraOf("unet.conv_in", [4, 4, 3, 3]),
      "unet.conv_in.diff_b": { shape: [4], data: numbers(4) },
      "unet.conv_norm_out.w_norm": { shape: [4], data: numbers(4) },
    });
    expect((await ask({ "more-than-factors": 1 }))?.warnings).toEqual([
      expect.stringMatching(
        /"more-than-factors": 2 of its tensors are no factors of a LoRA, they were left out; "unet.conv_in.diff_b" is one$/,
      ),
    ]);
  });
});
