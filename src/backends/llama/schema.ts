/** What the configuration says of a GGUF file. */
import { z } from "zod";

/** An entry of type `llama`. */
export const llamaSchema = z.strictObject({
  type: z.literal("llama"),
  name: z.string().min(1).describe("Name of the backend, unique."),
  path: z.string().min(1).meta({ format: "path" }).describe("The GGUF file."),
  id: z
    .string()
    .min(1)
    .optional()
    .describe("Name of the model. Default: the file's name without .gguf."),
  context_size: z
    .int()
    .min(16)
    .optional()
    .describe("Tokens of one conversation. Default: the model's own, at most 4096."),
  sequences: z.int().min(1).max(256).default(4).describe("Calls that run at once."),
  gpu: z
    .union([z.literal(false), z.enum(["auto", "cuda", "vulkan", "metal"])])
    .default(false)
    .describe("Where the model runs: false is the CPU."),
  threads: z
    .int()
    .min(1)
    .max(256)
    .optional()
    .describe("CPU threads. Default: one per core; one for models under 64 MiB."),
});

/** The entry, checked. */
export type LlamaConfig = z.output<typeof llamaSchema>;
