/** A request as a job for the pipeline. */
import type { Call } from "../../core/call.js";
import { imageDefaults } from "../../core/defaults.js";
import { invalidValue } from "../../core/errors.js";
import { parseLoras } from "../../core/loras.js";
import { readingOf } from "../../core/prompts.js";
import { firstSeed } from "../../core/seeds.js";
import type { LoraUse } from "./lora/fuse.js";
import type { ImageJob } from "./protocol.js";

/** LoRAs of a model: paths by id. */
type Loras = ReadonlyMap<string, string>;

/**
 * Makes the job.
 * @param bar what `|` in a prompt means, unless the model's settings say otherwise
 * @param loras those that the model has
 * @param again looks for LoRAs again
 * @throws LintelError `invalid_value` that names `loras`, if one is not known
 */
export function jobOf(
  call: Call<"streamTextToImage">,
  bar: "batch" | "encoders",
  loras: Loras,
  again: () => Loras,
): ImageJob {
  const { request } = call;
  return {
    prompt: request.prompt ?? "",
    negativePrompt: request.negativePrompt,
    bar: (readingOf(call) ?? bar) === "encoders",
    width: request.width ?? imageDefaults.width,
    height: request.height ?? imageDefaults.height,
    guidanceScale: request.guidanceScale ?? imageDefaults.guidanceScale,
    steps: request.numInferenceSteps ?? imageDefaults.numInferenceSteps,
    loras: lorasOf(request.loras, loras, again),
    seed: firstSeed(request.seed),
    images: request.numImagesPerPrompt ?? imageDefaults.numImagesPerPrompt,
    safetyCheck: request.safetyCheck ?? imageDefaults.safetyCheck,
    previews: request.includePreviews,
  };
}

function lorasOf(text: string, known: Loras, again: () => Loras): LoraUse[] {
  const wanted = [...parseLoras(text, Number.POSITIVE_INFINITY)];
  const found = wanted.every(([id]) => known.has(id)) ? known : again();
  return wanted.map(([id, weight]) => {
    const path = found.get(id);
    if (path !== undefined) return { id, path, weight };
    const ids = [...found.keys()].slice(0, 20).join(", ");
    throw invalidValue(
      "loras",
      `this model has no ${JSON.stringify(id.slice(0, 100))}, only ${ids || "none at all"}`,
    );
  });
}
