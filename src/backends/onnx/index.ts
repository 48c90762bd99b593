/** Image models in diffusers' layout, as ONNX files, run in this process. */
import type { BackendKind } from "../kind.js";
import { createOnnxBackend } from "./backend.js";
import { onnxSchema } from "./schema.js";

/** The kind `onnx`. */
export const onnx: BackendKind<typeof onnxSchema> = {
  schema: onnxSchema,
  create: (config, context) => createOnnxBackend(config, context),
};
