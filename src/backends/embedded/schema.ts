/** What the configuration says of embedded models. */
import { z } from "zod";

/** An entry of type `embedded`. */
export const embeddedSchema = z.strictObject({
  type: z.literal("embedded"),
  name: z.string().min(1).describe("Name of the backend, unique."),
  models: z
    .array(z.string().min(1).meta({ format: "path" }))
    .min(1)
    .optional()
    .describe(
      "GGUF files, folders in diffusers' layout as ONNX files, or folders of these. Default: the two models that Lintel brings.",
    ),
});

/** The entry, checked. */
export type EmbeddedConfig = z.output<typeof embeddedSchema>;
