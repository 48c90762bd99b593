/** Writes image requests as the servers of `/v1/images/generations` read them. */
import type { TextToImageRequest } from "../../../../gen/lintel/v1/image_pb.js";
import { imageDefaults } from "../../../core/defaults.js";
import { promptParts } from "../../../core/prompts.js";
import { cfgOf } from "../../cfg.js";
import { endUser } from "../../completions/refusals/words.js";
import { extraArgs, withoutExtraArgs } from "../../extra-args.js";
import { refusedSize } from "../../size.js";
import type { ImageProfile, Named } from "./profile.js";

/** Fields that a server may refuse and that a request can go without. */
export const optionalFields = [
  "response_format",
  "output_format",
  "seed",
  "negative_prompt",
  "num_inference_steps",
  "guidance_scale",
] as const;

/** What to ask for. */
export interface ImageRequestOptions {
  readonly profile: ImageProfile;
  /** Number of images. */
  readonly n: number;
  /** Of the one image that is asked for. */
  readonly seed: number | undefined;
  /** How many partial images to stream; absent: the answer comes whole. */
  readonly partials?: number | undefined;
  /** What this server has refused for this model. */
  readonly refused: ReadonlySet<string>;
  /** What it is told of whom the call is for; absent: nothing. */
  readonly user?: string | undefined;
}

/**
 * The body of `POST /images/generations`. Steps and guidance at the contract's
 * default are left to the model, whose own default is better; what an operator
 * wants instead is another default in the configuration.
 */
export function writeImageRequest(
  request: TextToImageRequest,
  options: ImageRequestOptions,
): string {
  const { profile, n, partials, refused } = options;
  const { server, sides, responseFormat } = profile;
  const named = (field: Named) => profile.names?.[field] ?? field;
  const has = (field: string) => profile.tuning.includes(field) && !refused.has(field);
  const { modelId, width, height, guidanceScale, numInferenceSteps } = request;
  const guidance = set(guidanceScale, imageDefaults.guidanceScale, has("guidance_scale"));
  const steps = set(numInferenceSteps, imageDefaults.numInferenceSteps, has("num_inference_steps"));
  const negative = has("negative_prompt") ? request.negativePrompt : "";
  const seed = refused.has("seed") ? undefined : sentSeed(options.seed, profile);
  const sized = profile.sized !== false && width && height && !refused.has("size");
  const common = {
    model: modelId,
    n,
    ...(sized && (sides ? { width, height } : { [named("size")]: `${width}x${height}` })),
    ...(responseFormat && !refused.has("response_format") && { response_format: responseFormat }),
    ...(profile.outputFormat &&
      !refused.has("output_format") && { [named("output_format")]: "png" }),
    ...(partials !== undefined && { stream: true, partial_images: partials }),
    user: refused.has(endUser) ? undefined : options.user,
  };
  const prompt = promptOf(request.prompt ?? "", profile);
  if (server === "sdcpp") {
    const extra = { seed, negative, steps, guidance };
    return JSON.stringify({ ...common, prompt: `${prompt}${sdcppArguments(extra)}` });
  }
  return JSON.stringify({
    ...common,
    prompt,
    ...(negative !== "" && { negative_prompt: negative }),
    [named("seed")]: seed,
    [named("num_inference_steps")]: steps,
    guidance_scale: guidance,
  });
}

/** A value that somebody set, for a field that is there. */
function set(value: number | undefined, fallback: number, there: boolean): number | undefined {
  return there && value !== fallback ? value : undefined;
}

/** A server with fewer seeds gets the rest of the division: the same picture for the same seed. */
function sentSeed(seed: number | undefined, { lastSeed }: ImageProfile): number | undefined {
  if (seed === undefined || lastSeed === undefined) return seed;
  return seed % lastSeed || lastSeed;
}

/** The prompt without what the server would take for something else. */
function promptOf(prompt: string, { bar, server }: ImageProfile): string {
  const plain = bar ? prompt : promptParts(prompt).join(", ");
  return server === "sdcpp" ? withoutExtraArgs(plain) : plain;
}

interface SdcppArguments {
  readonly seed: number | undefined;
  readonly negative: string;
  readonly steps: number | undefined;
  readonly guidance: number | undefined;
}

/** stable-diffusion.cpp takes what has no field in OpenAI's form as JSON inside the prompt. */
function sdcppArguments({ seed, negative, steps, guidance }: SdcppArguments): string {
  const sampling = {
    ...(steps !== undefined && { sample_steps: steps }),
    ...(guidance !== undefined && { guidance: { txt_cfg: cfgOf(guidance) } }),
  };
  return extraArgs({
    ...(seed !== undefined && { seed }),
    ...(negative !== "" && { negative_prompt: negative }),
    ...(Object.keys(sampling).length > 0 && { sample_params: sampling }),
  });
}

/**
 * Checks the size.
 * @throws LintelError `unsupported_parameter` that names width or height
 */
export function checkSize(request: TextToImageRequest, profile: ImageProfile): void {
  const { width = 0, height = 0 } = request;
  const { sizes, step = 1, ratio = Number.POSITIVE_INFINITY } = profile;
  if (sizes && !sizes.includes(`${width}x${height}`)) {
    const widths = sizes.map((size) => Number(size.split("x")[0]));
    throw refusedSize(`this model makes ${sizes.join(", ")}`, !widths.includes(width));
  }
  for (const [side, first] of [[width, true] as const, [height, false] as const]) {
    if (side % step !== 0) throw refusedSize(`this model wants multiples of ${step}`, first);
  }
  if (Math.max(width, height) > ratio * Math.min(width, height)) {
    throw refusedSize(`this model wants no side longer than ${ratio} times the other`, true);
  }
}
