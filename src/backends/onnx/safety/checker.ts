/** The safety checker that a model brings: says whether a picture could be harmful. */
import { existsSync } from "node:fs";
import { join } from "node:path";
import * as z from "zod";
import { centre, type Picture, planes, shortestEdge } from "../../../media/pictures.js";
import { files } from "../folder.js";
import type { Graph, Signature } from "../graph.js";
import { readJson } from "../json-file.js";
import { ModelProblem } from "../problem.js";

/** Inputs and outputs, as diffusers' own export names them. */
export const checkerSignature: Signature = {
  inputs: ["clip_input"],
  optional: ["images"],
  outputs: ["has_nsfw_concepts"],
};

/** How a picture is readied for the checker; older files have numbers for sizes. */
const processorSchema = z.object({
  size: z
    .union([
      z.int().min(1),
      z.object({ shortest_edge: z.int().min(1) }).transform((s) => s.shortest_edge),
    ])
    .default(224),
  crop_size: z
    .union([
      z.object({ width: z.int().min(1), height: z.int().min(1) }),
      z
        .int()
        .min(1)
        .transform((side) => ({ width: side, height: side })),
    ])
    .default({ width: 224, height: 224 }),
  resample: z.literal(3, { error: "only bicubic resampling (3) is supported" }).default(3),
  rescale_factor: z
    .number()
    .positive()
    .default(1 / 255),
  image_mean: z.array(z.number()).length(3).default([0.48145466, 0.4578275, 0.40821073]),
  image_std: z.array(z.number()).length(3).default([0.26862954, 0.26130258, 0.27577711]),
});

/** How a picture is readied. */
export type Processor = z.output<typeof processorSchema>;

/** Whether a model brings a checker. */
export const hasChecker = (folder: string): boolean => existsSync(join(folder, files.checker));

/**
 * Reads how pictures are readied; CLIP's own way where the file is missing.
 * @throws ModelProblem if it says what can't be done
 */
export async function readProcessor(folder: string): Promise<Processor> {
  if (!existsSync(join(folder, files.processor))) return processorSchema.parse({});
  const processor = await readJson(folder, files.processor, processorSchema);
  const { width, height } = processor.crop_size;
  if (Math.max(width, height) <= processor.size) return processor;
  throw new ModelProblem(`${files.processor}: crop_size: must not be larger than size`);
}

/** What the checker is shown: three planes. */
export function planesOf(picture: Picture, processor: Processor): Float32Array {
  const { size, crop_size, rescale_factor: scale, image_mean, image_std } = processor;
  const seen = centre(shortestEdge(picture, size), crop_size);
  return planes(seen, { scale, mean: image_mean, deviation: image_std });
}

/** A checker, ready. */
export class Checker {
  readonly #graph: Graph;
  readonly #processor: Processor;

  constructor(graph: Graph, processor: Processor) {
    this.#graph = graph;
    this.#processor = processor;
  }

  /**
   * Whether a picture could be harmful.
   * @throws ModelProblem if the checker fails
   */
  async isHarmful(picture: Picture): Promise<boolean> {
    const { width, height } = this.#processor.crop_size;
    const { data } = await this.#graph.run(
      {
        clip_input: [planesOf(picture, this.#processor), [1, 3, height, width]],
        ...(this.#graph.has("images") && { images: this.#blank() }),
      },
      "has_nsfw_concepts",
    );
    return (data[0] ?? 0) > 0;
  }

  /** It would black out what it finds; nobody looks at that, so it gets next to nothing. */
  #blank() {
    const dims = this.#graph
      .input("images")
      .shape.map((size, i) =>
        typeof size === "number" && size > 0 ? size : [1, 8, 8, 3][i],
      ) as number[];
    return [new Float32Array(dims.reduce((product, size) => product * size, 1)), dims] as const;
  }

  release(): Promise<void> {
    return this.#graph.release();
  }
}
