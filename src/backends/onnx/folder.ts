/** Reads the folder of a model: which files there are, and what their settings say. */
import { readFile, stat } from "node:fs/promises";
import { join } from "node:path";
import { z } from "zod";
import { ModelProblem } from "./problem.js";

/** A folder in diffusers' layout, its JSON files read and checked. */
export interface ModelFolder {
  readonly path: string;
  readonly scheduler: unknown;
  readonly tokenizer: object;
  readonly tokenizerConfig: z.output<typeof tokenizerConfig>;
  readonly textEncoder: z.output<typeof textEncoderConfig>;
  readonly unet: z.output<typeof unetConfig>;
  readonly vae: z.output<typeof vaeConfig>;
}

/** File names inside of a folder, for reading and for errors. */
export const files = {
  index: "model_index.json",
  scheduler: "scheduler/scheduler_config.json",
  tokenizer: "tokenizer/tokenizer.json",
  tokenizerConfig: "tokenizer/tokenizer_config.json",
  textEncoder: "text_encoder/model.onnx",
  textEncoderConfig: "text_encoder/config.json",
  unet: "unet/model.onnx",
  unetConfig: "unet/config.json",
  vae: "vae_decoder/model.onnx",
  vaeConfig: "vae_decoder/config.json",
} as const;

/** Classes of diffusers and optimum whose layout is the one of Stable Diffusion 1 and 2. */
const pipelines = [
  "StableDiffusionPipeline",
  "OnnxStableDiffusionPipeline",
  "ORTStableDiffusionPipeline",
];

const token = z.union([z.string(), z.object({ content: z.string() }).transform((t) => t.content)]);
const side = z.enum(["left", "right"]).default("right");

const indexFile = z.object({
  _class_name: z.enum(pipelines, {
    error: ({ input }) =>
      `pipeline ${String(input)} is not supported, only ${pipelines.join(", ")}`,
  }),
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
});
const vaeConfig = z.object({
  latent_channels: z.int().min(1).default(4),
  block_out_channels: z.array(z.int()).min(1),
  scaling_factor: z.number().positive().default(0.18215),
  shift_factor: z.number().nullish(),
});

/**
 * Reads a folder.
 * @throws ModelProblem that names the file at fault
 */
export async function readFolder(path: string): Promise<ModelFolder> {
  const there = await stat(path).catch(() => undefined);
  if (!there?.isDirectory()) throw new ModelProblem("the model's folder does not exist");
  await read(path, files.index, indexFile);
  return {
    path,
    scheduler: await read(path, files.scheduler, z.unknown()),
    tokenizer: await read(path, files.tokenizer, z.looseObject({ model: z.looseObject({}) })),
    tokenizerConfig: await read(path, files.tokenizerConfig, tokenizerConfig),
    textEncoder: await read(path, files.textEncoderConfig, textEncoderConfig),
    unet: await read(path, files.unetConfig, unetConfig),
    vae: await read(path, files.vaeConfig, vaeConfig),
  };
}

async function read<S extends z.ZodType>(
  folder: string,
  file: string,
  schema: S,
): Promise<z.output<S>> {
  let json: unknown;
  try {
    json = JSON.parse(await readFile(join(folder, file), "utf8"));
  } catch (error) {
    throw new ModelProblem(`${file}: ${whyUnreadable(error)}`, { cause: error });
  }
  const { success, data, error } = schema.safeParse(json);
  if (success) return data;
  const issues = error.issues.map(({ path, message }) => [...path, message].join(": "));
  throw new ModelProblem(`${file}: ${issues.join("; ")}`);
}

/** Why a file can't be read, without its full path. */
export function whyUnreadable(error: unknown): string {
  if (error instanceof SyntaxError) return "is not valid JSON";
  const { code } = error as NodeJS.ErrnoException;
  if (code === "ENOENT" || code === "ENOTDIR") return "is missing";
  return `can't be read (${code ?? "unknown reason"})`;
}
