/** What the configuration says of a folder of ONNX files. */
import * as z from "zod";
import { path } from "../../config/fields.js";
import { backendName, keepAliveField, loadField } from "../fields.js";
import { gpuField } from "../gpu.js";

/** An entry of type `onnx`. */
export const onnxSchema = z.strictObject({
  type: z.literal("onnx"),
  name: backendName(),
  path: path.describe("Folder of the model, in diffusers' layout, as ONNX files."),
  id: z.string().min(1).optional().describe("Name of the model. Default: the folder's name."),
  threads: z
    .int()
    .min(1)
    .max(256)
    .optional()
    .describe("Threads of one run. Default: as many as the machine can run at once."),
  gpu: gpuField("the model"),
  load: loadField,
  keep_alive: keepAliveField,
  prompt: z
    .enum(["batch", "encoders"])
    .optional()
    .describe(
      "What | in a prompt means: separates prompts, or the texts for the model's several text encoders. Default: batch.",
    ),
  loras: z
    .array(path)
    .optional()
    .describe(
      "LoRAs besides those in the model's own folder loras: safetensors files, or folders of these.",
    ),
  lora_cache: z
    .int()
    .min(1)
    .max(64)
    .optional()
    .describe(
      "Combinations of LoRAs that are kept in memory besides the model itself; each takes as much memory as the parts that it changes. Default: 1.",
    ),
  queue: z
    .int()
    .min(0)
    .max(10_000)
    .optional()
    .describe("Calls that may wait for the model; further ones are refused with 503. Default: 16."),
});

/** The entry, checked. */
export type OnnxConfig = z.output<typeof onnxSchema>;
