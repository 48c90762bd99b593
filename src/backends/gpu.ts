/** GPUs that local models can run on. */
import * as z from "zod";

/** Ways to a GPU; `auto`: the best that there is. */
export const gpuKinds = ["auto", "cuda", "vulkan", "metal"] as const;

/** Where a model may run; `false`: on the CPU. */
export type Gpu = false | (typeof gpuKinds)[number];

/**
 * Where local models run.
 * @param which models this is about
 */
export const gpuField = (which: string) =>
  z
    .union([z.literal(false), z.enum(gpuKinds)])
    .optional()
    .describe(
      `Where ${which} runs: false is the CPU, auto the best that there is. Default: false.`,
    );
