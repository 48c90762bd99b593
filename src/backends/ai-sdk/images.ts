/** Images by a provider of the AI SDK. */

import type {
  ImageModelV3,
  ImageModelV3CallOptions,
  ImageModelV3ProviderMetadata,
} from "@ai-sdk/provider";
import type { Media, TextToImageResponse } from "../../../gen/lintel/v1/image_pb.js";
import type { Call } from "../../core/call.js";
import { imageDefaults } from "../../core/defaults.js";
import { unsupported } from "../../core/errors.js";
import { inlineImage, noSeed } from "../../core/image-events.js";
import { isObject } from "../../core/json.js";
import { firstSeed, nthSeed, seeds } from "../../core/seeds.js";
import { notSupported } from "../../core/warnings.js";
import { callHeaders } from "../call-headers.js";
import { askWithout } from "../completions/refusals/asking.js";
import { nonsense } from "../http/failure.js";
import { asPng, imageOfBase64 } from "../http/image.js";
import { string } from "../http/json.js";
import { aboutSize, choosesSide, choosesSize, insistsOnSize } from "../size.js";
import { attempt } from "./chat.js";
import { imagePackage, tuningOf } from "./image-packages.js";
import { type Dropped, readWarning } from "./warnings.js";

/** An image model with what is known of it. */
export interface ImageModel {
  readonly model: ImageModelV3;
  readonly package: string;
  readonly providerOptions: Record<string, Record<string, unknown>>;
  /** Request fields that it honours. */
  readonly supports: readonly string[];
  /** What the vendor refused for it. */
  readonly refused: ReadonlySet<string>;
  /** The provider ignores a field, or the vendor refused it and did well without. */
  learn(field: string): void;
}

type Options = Omit<ImageModelV3CallOptions, "n" | "seed" | "abortSignal">;

/** Some images of one prompt. `signal` is the call's, or aborts with it. */
export async function* textToImage(
  known: ImageModel,
  call: Call<"textToImage">,
  signal: AbortSignal,
): AsyncGenerator<readonly TextToImageResponse[]> {
  const { request } = call;
  const images = request.numImagesPerPrompt ?? imageDefaults.numImagesPerPrompt;
  const seeded = known.supports.includes("seed");
  // A seed is of one request: so that image i has seed + i, each has its own.
  const most = seeded ? 1 : ((await maxImages(known.model)) ?? 1);
  const first = seeded ? firstSeed(request.seed) : undefined;
  const options = optionsOf(known, call);
  const failed = new AbortController();
  const within = AbortSignal.any([signal, failed.signal]);
  const parts: Promise<Media[]>[] = [];
  for (let made = 0; made < images; made += most) {
    const seed = first === undefined ? undefined : nthSeed(first, made);
    parts.push(ask(known, call, { ...options, n: Math.min(most, images - made), seed }, within));
  }
  try {
    const media = (await Promise.all(parts)).flat();
    yield [{ $typeName: "lintel.v1.TextToImageResponse", images: media, warnings: [] }];
  } catch (thrown) {
    // There is no half an answer: what still runs is not paid for.
    failed.abort(thrown);
    throw thrown;
  }
}

async function ask(
  known: ImageModel,
  call: Call<"textToImage">,
  options: Omit<ImageModelV3CallOptions, "abortSignal">,
  signal: AbortSignal,
): Promise<Media[]> {
  const result = await sent(known, call, options, signal);
  const dropped = result.warnings.map(readWarning);
  for (const one of dropped) heed(known, call, one);
  const seedless = dropped.some(({ fields, ignored }) => ignored && fields.includes("seed"));
  const seed = seedless ? noSeed : (options.seed ?? noSeed);
  if (isFlagged(result.providerMetadata)) call.warnings.add(flagged);
  if (result.images.length !== options.n) {
    throw nonsense(`made ${result.images.length} images instead of ${options.n}`);
  }
  return Promise.all(
    result.images.map(async (image, index) =>
      inlineImage(
        typeof image === "string" ? await imageOfBase64(image) : await asPng(image),
        seed,
        { revisedPrompt: revisedPromptOf(result.providerMetadata, index) },
      ),
    ),
  );
}

/** What a vendor made of the prompt of an image, as OpenAI, xAI and Vertex tell it; empty: it does not. */
function revisedPromptOf(metadata: ImageModelV3ProviderMetadata | undefined, index: number) {
  const told = Object.values(metadata ?? {}).map(({ images }) => images?.[index]);
  return told.map((image) => (isObject(image) ? string(image.revisedPrompt) : "")).join("");
}

const flagged = "safety_check: the vendor's own check flagged an image, and may have made it black";

/** Whether a vendor says of an image that it is harmful: fal draws a black one in its place. */
const isFlagged = (metadata: ImageModelV3ProviderMetadata | undefined): boolean =>
  Object.values(metadata ?? {}).some(({ images }) =>
    images?.some((image) => isObject(image) && image.nsfw === true),
  );

/** What the provider answers, asked again without a size where its vendor refuses one that nobody asked for. */
function sent(
  known: ImageModel,
  call: Call<"textToImage">,
  { size, ...options }: Omit<ImageModelV3CallOptions, "abortSignal">,
  abortSignal: AbortSignal,
) {
  const { side } = imagePackage(known.package);
  const { request, warnings } = call;
  const more = { ...options, ...sentSeed(known, options.seed), abortSignal };
  return askWithout({
    fields: () => (insistsOnSize(call, side) ? [] : ["size"]),
    known: () => known.refused,
    async ask(refused) {
      const given = refused.has("size") ? undefined : size;
      const answer = known.model.doGenerate({ ...more, size: given });
      const asked = await attempt(abortSignal, answer);
      return "answer" in asked
        ? asked
        : { ...asked, failure: () => aboutSize(asked.failure(), asked.body) };
    },
    chosen: () => choosesSize(request, side),
    learn: (field) => known.learn(field),
    warnings,
  });
}

/** A provider with fewer seeds gets the rest of the division: the same picture for the same seed. */
function sentSeed(known: ImageModel, seed: number | undefined): { seed: number | undefined } {
  const { seeds: most = seeds, zero = 0 } = imagePackage(known.package);
  return { seed: seed === undefined ? undefined : seed % most || zero };
}

/** Fields that change the picture: a caller who set one is not served without it. Of seeds the core takes care. */
const changing = { width: "width", height: "height" } as const;

/**
 * The core drops or refuses what a model does not support before it is asked.
 * What only the provider knows comes too late for that: the call that finds it
 * out follows the same rule, and from the next one on the core does.
 */
function heed(
  { learn, package: name }: ImageModel,
  { request, modelSettings, warnings }: Call<"textToImage">,
  { fields, ignored, text }: Dropped,
): void {
  // Some say so wherever there is a size.
  if (text.startsWith("aspectRatio:")) return;
  if (!ignored || fields.length === 0) {
    const unasked = fields.includes("width") && !choosesSize(request, imagePackage(name).side);
    if (!unasked) warnings.add(text);
    return;
  }
  for (const field of fields) {
    learn(field);
    const key = changing[field as keyof typeof changing];
    if (key === undefined || !choosesSide(request, key, imagePackage(name).side)) continue;
    if (modelSettings?.unsupported === "ignore") {
      warnings.add(notSupported(field));
      continue;
    }
    throw unsupported(field);
  }
}

function optionsOf(known: ImageModel, call: Call<"textToImage">): Options {
  const { request, id } = call;
  const { supports, providerOptions } = known;
  const { width, height } = request;
  const { keys, options } = imagePackage(known.package);
  const tuning = tuningOf(known.package, known.model.modelId);
  const size = supports.includes("width") && width && height ? `${width}x${height}` : undefined;
  const tuned = {
    guidance_scale: [request.guidanceScale, imageDefaults.guidanceScale],
    num_inference_steps: [request.numInferenceSteps, imageDefaults.numInferenceSteps],
    negative_prompt: [request.negativePrompt, ""],
  } as const;
  const sent: Record<string, unknown> = { ...options };
  for (const [field, name] of Object.entries(tuning)) {
    // At the contract's default it is not set: then the model's own default is better.
    const [value, fallback] = tuned[field as keyof typeof tuned];
    if (value !== undefined && value !== fallback) sent[name] = value;
  }
  const all = Object.assign(sent, ...keys.map((key) => providerOptions[key]));
  return {
    prompt: request.prompt,
    size: size as Options["size"],
    aspectRatio: undefined,
    files: undefined,
    mask: undefined,
    headers: { "x-request-id": id, ...callHeaders(call) },
    providerOptions: {
      ...providerOptions,
      ...Object.fromEntries(keys.map((key) => [key, all])),
    } as Options["providerOptions"],
  };
}

async function maxImages({ maxImagesPerCall, modelId }: ImageModelV3): Promise<number | undefined> {
  return typeof maxImagesPerCall === "function" ? maxImagesPerCall({ modelId }) : maxImagesPerCall;
}
