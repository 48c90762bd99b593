/** Reads the folder of a model: which files there are, and what their settings say. */
import { existsSync } from "node:fs";
import { stat } from "node:fs/promises";
import { basename, join } from "node:path";
import * as z from "zod";
import { readJson } from "./json-file.js";
import { ModelProblem } from "./problem.js";
import { readTokenizer } from "./tokenizer-files.js";
import { notFolder, refuseTorch } from "./unconverted.js";

/** A text encoder and the tokenizer in front of it. */
export interface EncoderFolder {
  /** Name of the encoder's folder. */
  readonly name: string;
  /** Name of the tokenizer's folder. */
  readonly tokenizerName: string;
  readonly config: z.output<typeof textEncoderConfig>;
  /** In the form of `tokenizer.json`. */
  readonly tokenizer: object;
  readonly tokenizerConfig: z.output<typeof tokenizerConfig>;
}

/** A folder in diffusers' layout, its JSON files read and checked. */
export interface ModelFolder {
  readonly path: string;
  /** The kind of layout: `xl` has two text encoders, whose results the UNet gets together. */
  readonly layout: "sd" | "xl";
  /** Whether the UNet gets zeros instead of an empty negative prompt. */
  readonly zeroNegative: boolean;
  readonly scheduler: unknown;
  readonly encoders: readonly EncoderFolder[];
  readonly unet: z.output<typeof unetConfig>;
  readonly vae: z.output<typeof vaeConfig>;
}

/** File names inside of a folder, for reading and for errors. */
export const files = {
  index: "model_index.json",
  scheduler: "scheduler/scheduler_config.json",
  unet: "unet/model.onnx",
  unetConfig: "unet/config.json",
  vae: "vae_decoder/model.onnx",
  vaeConfig: "vae_decoder/config.json",
  checker: "safety_checker/model.onnx",
  processor: "feature_extractor/preprocessor_config.json",
} as const;

/** A pipeline's class as diffusers calls it: optimum's classes, and diffusers' older ones, have a prefix. */
export const classOf = (name: string): string => name.replace(/^(?:ORT|Onnx)/, "");

/** Layouts by the classes of diffusers. */
const layouts = {
  StableDiffusionPipeline: "sd",
  LatentConsistencyModelPipeline: "sd",
  StableDiffusionXLPipeline: "xl",
} as const;

const encoderNames = {
  sd: [["text_encoder", "tokenizer"]],
  xl: [
    ["text_encoder", "tokenizer"],
    ["text_encoder_2", "tokenizer_2"],
  ],
} as const;

const token = z.union([z.string(), z.object({ content: z.string() }).transform((t) => t.content)]);
const side = z.enum(["left", "right"]).default("right");

const indexFile = z.object({
  _class_name: z
    .string()
    .transform(classOf)
    .pipe(
      z.enum(Object.keys(layouts) as (keyof typeof layouts)[], {
        error: ({ input }) =>
          `pipeline ${String(input)} is not supported, only ${Object.keys(layouts).join(", ")}`,
      }),
    ),
  force_zeros_for_empty_prompt: z.boolean().nullish(),
});
const tokenizerConfig = z.looseObject({
  // Tokenizers without a limit say 1e30.
  model_max_length: z.number().positive().optional(),
  pad_token: token.nullish(),
  eos_token: token.nullish(),
  padding_side: side,
  truncation_side: side,
});
const textEncoderConfig = z.object({
  max_position_embeddings: z.int().min(1).optional(),
  pad_token_id: z.int().min(0).nullish(),
});
const unetConfig = z.object({
  in_channels: z.int().min(1),
  // Where it stands, the UNet halves the latent at all levels but the last.
  down_block_types: z.array(z.string()).min(1).optional(),
  layers_per_block: z.union([z.int(), z.array(z.int())]).optional(),
  // Where it stands, the model takes the guidance scale as an embedding of this width.
  time_cond_proj_dim: z.int().min(2).nullish(),
});
const numbers = z.array(z.number()).nullish();
const vaeConfig = z.object({
  latent_channels: z.int().min(1).default(4),
  block_out_channels: z.array(z.int()).min(1),
  scaling_factor: z.number().positive().default(0.18215),
  shift_factor: z.number().nullish(),
  latents_mean: numbers,
  latents_std: numbers,
  // A model of ours says here how previews are made; diffusers has no such field.
  latent_rgb_factors: z.array(z.array(z.number()).length(3)).nullish(),
  latent_rgb_factors_bias: z.array(z.number()).length(3).nullish(),
});

/**
 * Reads a folder.
 * @throws ModelProblem that names the file at fault
 */
export async function readFolder(path: string): Promise<ModelFolder> {
  const there = await stat(path).catch(() => undefined);
  if (!there) throw new ModelProblem("the model's folder does not exist");
  if (!there.isDirectory()) throw notFolder(basename(path));
  if (!existsSync(join(path, files.index))) await refuseTorch(path, "");
  const index = await readJson(path, files.index, indexFile);
  const layout = layouts[index._class_name];
  // Before its other files: an export names them otherwise.
  for (const part of ["unet", ...encoderNames[layout].map(([name]) => name), "vae_decoder"]) {
    await refuseTorch(path, part);
  }
  const encoders: EncoderFolder[] = [];
  for (const [name, tokenizerName] of encoderNames[layout]) {
    encoders.push({
      name,
      tokenizerName,
      config: await readJson(path, `${name}/config.json`, textEncoderConfig),
      tokenizer: await readTokenizer(path, tokenizerName),
      tokenizerConfig: await readJson(
        path,
        `${tokenizerName}/tokenizer_config.json`,
        tokenizerConfig,
      ),
    });
  }
  return {
    path,
    layout,
    zeroNegative: layout === "xl" && (index.force_zeros_for_empty_prompt ?? true),
    scheduler: await readJson(path, files.scheduler, z.unknown()),
    encoders,
    unet: await readJson(path, files.unetConfig, unetConfig),
    vae: await readJson(path, files.vaeConfig, vaeConfig),
  };
}
