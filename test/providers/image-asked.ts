/** All that a request for images can say, each in a request of its own, with values that are nobody's defaults. */

/** By a name for each; `field` is what warnings and errors call it. */
export const imageAsked = {
  size: { field: "width", request: { width: 512, height: 384 } },
  seed: { field: "seed", request: { seed: 77n } },
  zero: { field: "seed", request: { seed: 0n } },
  several: { field: "num_images_per_prompt", request: { numImagesPerPrompt: 2 } },
  "several of a seed": { field: "seed", request: { numImagesPerPrompt: 2, seed: 77n } },
  guidance: { field: "guidance_scale", request: { guidanceScale: 3.5 } },
  steps: { field: "num_inference_steps", request: { numInferenceSteps: 9 } },
  negative: { field: "negative_prompt", request: { negativePrompt: "a dog" } },
} as const;

/** A name of such a request. */
export type ImageName = keyof typeof imageAsked;
