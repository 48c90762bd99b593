/** What the configuration says of a folder of ONNX files. */
import { z } from "zod";

/** An entry of type `onnx`. */
export const onnxSchema = z.strictObject({
  type: z.literal("onnx"),
  name: z.string().min(1).describe("Name of the backend, unique."),
  path: z.string().min(1).describe("Folder of the model, in diffusers' layout, as ONNX files."),
  id: z.string().min(1).optional().describe("Name of the model. Default: the folder's name."),
  threads: z
    .int()
    .min(1)
    .max(256)
    .optional()
    .describe("Threads of one run. Default: as many as the machine can run at once."),
  preload: z
    .boolean()
    .default(true)
    .describe("Whether the model loads at start, rather than with the first call."),
});

/** The entry, checked. */
export type OnnxConfig = z.output<typeof onnxSchema>;
