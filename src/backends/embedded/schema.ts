/** What the configuration says of embedded models. */
import { z } from "zod";
import { path } from "../../config/fields.js";
import { size } from "../../config/quantities.js";
import { backendName, loadField } from "../fields.js";
import { gpuField } from "../gpu.js";
import { chatEngineFields } from "../llama/schema.js";

/** An entry of type `embedded`. */
export const embeddedSchema = z.strictObject({
  type: z.literal("embedded"),
  name: backendName(),
  models: z
    .array(path())
    .min(1)
    .optional()
    .describe(
      "GGUF files, names on Hugging Face (hf:user/repository:Q4_K_M), folders in diffusers' layout as ONNX files, or folders of these. Default: the two models that Lintel brings.",
    ),
  gpu: gpuField("each model"),
  ...chatEngineFields,
  load: loadField,
  memory_budget: size()
    .optional()
    .describe(
      "Memory that the models may take together; who was not wanted longest leaves. Default: whatever they take.",
    ),
});

/** The entry, checked. */
export type EmbeddedConfig = z.output<typeof embeddedSchema>;
