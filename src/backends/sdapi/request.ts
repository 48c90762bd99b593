/** Writes `txt2img` requests. */
import type { TextToImageRequest } from "../../../gen/lintel/v1/image_pb.js";
import { imageDefaults } from "../../core/defaults.js";
import { isObject } from "../../core/json.js";
import { seeds } from "../../core/seeds.js";
import { cfgOf } from "../cfg.js";
import { extraArgs, withoutExtraArgs } from "../extra-args.js";
import type { Dialect } from "./dialect.js";
import type { Checkpoint } from "./inventory.js";
import { loraTags, type WeightedLora } from "./loras.js";
import type { SdapiConfig } from "./schema.js";

/** What a request is made of besides the caller's. */
export interface Txt2img {
  readonly request: TextToImageRequest;
  readonly checkpoint: Checkpoint;
  readonly loras: readonly WeightedLora[];
  /** Of the first image. */
  readonly seed: number;
  readonly images: number;
  /** Id of the task, where the server takes one. */
  readonly task: string | undefined;
}

/** The body of `POST /sdapi/v1/txt2img`. */
export function writeTxt2img(
  { request, checkpoint, loras, seed, images, task }: Txt2img,
  dialect: Dialect,
  { sampler, scheduler, parameters }: SdapiConfig,
): string {
  const { override_settings: settings, ...more } = parameters;
  const prompt = request.prompt ?? "";
  const guidance = request.guidanceScale ?? imageDefaults.guidanceScale;
  return JSON.stringify({
    ...more,
    prompt: promptOf(prompt, dialect, { loras, seed }),
    negative_prompt: request.negativePrompt,
    width: request.width ?? imageDefaults.width,
    height: request.height ?? imageDefaults.height,
    steps: request.numInferenceSteps ?? imageDefaults.numInferenceSteps,
    cfg_scale: dialect.mixes ? cfgOf(guidance) : guidance,
    seed: sentSeed(seed, dialect),
    batch_size: images,
    n_iter: 1,
    ...(sampler && { sampler_name: sampler }),
    ...(scheduler && { scheduler }),
    ...(task && { force_task_id: task }),
    ...(!dialect.loraTags && {
      lora: loras.map(({ path, weight }) => ({ path, multiplier: weight })),
    }),
    override_settings: {
      ...(isObject(settings) && settings),
      ...(checkpoint.title && { sd_model_checkpoint: checkpoint.title }),
    },
    // Else the server loads the former checkpoint again after each image.
    override_settings_restore_afterwards: false,
  });
}

/** A server with fewer seeds gets the rest of the division: the same picture for the same seed. */
export const sentSeed = (seed: number, { seeds: known = seeds }: Dialect): number => seed % known;

function promptOf(
  prompt: string,
  dialect: Dialect,
  { loras, seed }: Pick<Txt2img, "loras" | "seed">,
): string {
  if (dialect.loraTags) return prompt + loraTags(loras);
  if (!dialect.extraArgs) return prompt;
  // The field of stable-diffusion.cpp's copy of this API is an int: a greater seed would be a random one.
  return withoutExtraArgs(prompt) + extraArgs(seed < 2 ** 31 ? {} : { seed });
}
