/** An image classifier in the layout of Hugging Face's ONNX exports. */
import { existsSync } from "node:fs";
import { join } from "node:path";
import * as z from "zod";
import { readJson } from "../backends/onnx/json-file.js";
import { isObject } from "../core/json.js";
import {
  centre,
  type Filter,
  type Normalization,
  type Picture,
  planes,
  resize,
  shortestEdge,
} from "../media/pictures.js";
import type { Classify } from "./protocol.js";

const side = z.int().min(1);
const area = z.union([
  z.object({ height: side, width: side }),
  side.transform((it) => ({ height: it, width: it })),
]);

/** `preprocessor_config.json`: how pictures are readied. */
const processorFields = z.object({
  do_resize: z.boolean().default(true),
  size: z.union([area, z.object({ shortest_edge: side })]).default({ height: 224, width: 224 }),
  /** As Pillow counts them. */
  resample: z
    .literal([2, 3], { error: "only bilinear (2) and bicubic (3) resampling are supported" })
    .default(2),
  do_center_crop: z.boolean().default(false),
  crop_size: area.optional(),
  do_rescale: z.boolean().default(true),
  rescale_factor: z
    .number()
    .positive()
    .default(1 / 255),
  do_normalize: z.boolean().default(true),
  image_mean: z.array(z.number()).length(3).default([0.5, 0.5, 0.5]),
  image_std: z.array(z.number()).length(3).default([0.5, 0.5, 0.5]),
});

/** Transformers' fast processors write null for all that they leave as it is without. */
const processorSchema = z.preprocess(
  (json) =>
    isObject(json)
      ? Object.fromEntries(Object.entries(json).filter(([, value]) => value !== null))
      : json,
  processorFields,
);

type Processor = z.output<typeof processorSchema>;

const configSchema = z.object({
  id2label: z.record(z.string().regex(/^\d+$/), z.string()),
  /** Several labels may hold at once: their certainties do not add up to one. */
  problem_type: z.string().nullish(),
});

/**
 * Loads a folder.
 * @param labels those that the operator named
 * @throws Error that names the file, and what is wrong with it
 */
export async function loadClassifier(folder: string, labels: readonly string[]): Promise<Classify> {
  const config = await readJson(folder, "config.json", configSchema);
  const processor = await readJson(folder, "preprocessor_config.json", processorSchema);
  // Keys that are whole numbers stand in their order, however the file has them.
  const names = Object.values(config.id2label);
  for (const label of labels) {
    if (names.includes(label)) continue;
    throw new Error(
      `safety.checker.labels: the model has no "${label}"; it has ${names.join(", ")}`,
    );
  }
  const file = ["onnx/model.onnx", "model.onnx"].find((it) => existsSync(join(folder, it)));
  if (!file) throw new Error(`${folder}: there is no model.onnx and no onnx/model.onnx`);
  const ort = await import("onnxruntime-node").catch((cause) => {
    throw new Error("safety.checker classifier needs a package: npm install onnxruntime-node", {
      cause,
    });
  });
  const session = await ort.InferenceSession.create(join(folder, file)).catch((cause: Error) => {
    throw new Error(`${file}: ${cause.message}`, { cause });
  });
  const [input = "pixel_values"] = session.inputNames;
  const [output = "logits"] = session.outputNames;
  for (const value of [session.inputMetadata[0], session.outputMetadata[0]]) {
    // Halves come as the integers that their bits are, and would give a verdict, a wrong one.
    if (!value?.isTensor || value.type === "float32") continue;
    throw new Error(`${file}: ${value.name} is of ${value.type}, and only float32 is supported`);
  }
  // As Hugging Face's pipeline does: a softmax of one number is always 1.
  const several = config.problem_type === "multi_label_classification" || names.length === 1;
  return async (picture) => {
    const seen = framed(picture, processor);
    const shown = planes(seen, normalizationOf(processor));
    const tensor = new ort.Tensor("float32", shown, [1, 3, seen.height, seen.width]);
    const logits = (await session.run({ [input]: tensor }))[output]?.data as Float32Array;
    if (logits.length !== names.length) {
      throw new Error(`the model answers ${logits.length} numbers for ${names.length} labels`);
    }
    const shares = several ? [...logits].map((x) => 1 / (1 + Math.exp(-x))) : softmax(logits);
    return new Map(names.map((name, i) => [name, shares[i] as number]));
  };
}

/** The picture as large as the model is shown it. */
function framed(picture: Picture, processor: Processor): Picture {
  const resized = processor.do_resize ? scaled(picture, processor) : picture;
  const crop = processor.do_center_crop ? processor.crop_size : undefined;
  return crop ? centre(resized, crop) : resized;
}

function scaled(picture: Picture, { size, resample }: Processor): Picture {
  const filter: Filter = resample === 2 ? "bilinear" : "bicubic";
  if ("shortest_edge" in size) return shortestEdge(picture, size.shortest_edge, filter);
  return resize(picture, size.width, size.height, filter);
}

const normalizationOf = (processor: Processor): Normalization => ({
  scale: processor.do_rescale ? processor.rescale_factor : 1,
  mean: processor.do_normalize ? processor.image_mean : [0, 0, 0],
  deviation: processor.do_normalize ? processor.image_std : [1, 1, 1],
});

function softmax(logits: Float32Array): number[] {
  const most = Math.max(...logits);
  const powers = [...logits].map((x) => Math.exp(x - most));
  const sum = powers.reduce((all, x) => all + x, 0);
  return powers.map((x) => x / sum);
}
