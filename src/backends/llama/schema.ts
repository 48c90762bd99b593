/** What the configuration says of a GGUF file. */
import * as z from "zod";
import { path } from "../../config/fields.js";
import { backendName, loadField } from "../fields.js";
import { gpuField } from "../gpu.js";
import { wrongWithTemplate } from "./own-template.js";

/** A chat template that works, and not the name of a file that has one. */
export const chatTemplate = z.string().check((context) => {
  const { value } = context;
  const wrong = /\{[{%]/.test(value)
    ? wrongWithTemplate(value)
    : `it has no {{ or {%; \${file:PATH} reads one from a file`;
  if (wrong === undefined) return;
  const message = `must be a Jinja template that works: ${wrong}`;
  context.issues.push({ code: "custom", input: value, message });
});

/** How chat models are run. */
export const chatEngineFields = {
  context_size: z
    .int()
    .min(16)
    .optional()
    .describe(
      "Tokens of one conversation; more than the model was trained for gets a warning. Default: the model's own, at most 4096.",
    ),
  sequences: z
    .int()
    .min(1)
    .max(256)
    .optional()
    .describe("Calls of one chat model that run at once, in one batch. Default: 4."),
  gpu_layers: z
    .union([z.int().min(0), z.enum(["auto", "max"])], {
      error: "must be a whole number from 0, auto or max",
    })
    .optional()
    .describe(
      "Layers of a chat model that the GPU holds; the CPU does the others. auto: as many as fit. Default: auto.",
    ),
  threads: z
    .int()
    .min(1)
    .max(256)
    .optional()
    .describe("CPU threads. Default: one per core; one for models under 64 MiB."),
};

/** An entry of type `llama`. */
export const llamaSchema = z.strictObject({
  type: z.literal("llama"),
  name: backendName(),
  path: path.describe(
    "The GGUF file, or a name on Hugging Face: hf:user/repository:Q4_K_M, hf:user/repository/file.gguf.",
  ),
  id: z
    .string()
    .min(1)
    .optional()
    .describe("Name of the model. Default: the file's name without .gguf."),
  chat_template: chatTemplate
    .optional()
    .describe(
      `Jinja template that makes prompts of conversations, instead of the file's own; \${file:my-template.jinja} reads one. Default: the file's, or ChatML.`,
    ),
  gpu: gpuField("the model"),
  ...chatEngineFields,
  load: loadField,
});

/** The entry, checked. */
export type LlamaConfig = z.output<typeof llamaSchema>;
