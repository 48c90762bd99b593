/** What the configuration says of a GGUF file. */
import * as z from "zod";
import { path } from "../../config/fields.js";
import { backendName, keepAliveField, loadField } from "../fields.js";
import { gpuField } from "../gpu.js";
import { wrongWithTemplate } from "./own-template.js";

/** What is taken off a token that is there already. */
const penalty = (times: string) =>
  z
    .number()
    .min(-2)
    .max(2)
    .optional()
    .describe(
      `What is taken off the logit of a token that is among the last 64 of a chat model's answer, ${times}. Default: 0.`,
    );

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

/** A LoRA of a chat model. */
export const chatLora = z.strictObject({
  path: path.describe("The adapter, a GGUF file."),
  scale: z
    .number()
    .min(-100)
    .max(100)
    .optional()
    .describe("How much of it counts. Default: 1, all of it."),
});

/** How chat models choose tokens, where requests do not say. */
const samplingFields = {
  min_p: z
    .number()
    .min(0)
    .max(1)
    .optional()
    .describe(
      "Share of the likeliest token's probability below which a chat model takes no token, where a request does not say. Default: 0, none is left out.",
    ),
  repeat_penalty: z
    .number()
    .min(0.1)
    .max(2)
    .optional()
    .describe(
      "How much less likely tokens of the answer are that are among the last 64 of it; above 1 a chat model repeats itself less. Default: 1, as likely.",
    ),
  presence_penalty: penalty("once"),
  frequency_penalty: penalty("for each time"),
};

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
  kv_cache_type: z
    .enum(["f32", "f16", "bf16", "q8_0", "q5_1", "q5_0", "q4_1", "q4_0", "iq4_nl"])
    .optional()
    .describe(
      "How a chat model keeps what it has read of conversations: q8_0 takes half the memory of f16, q4_0 a quarter, and both lose some precision. Default: f16.",
    ),
  flash_attention: z
    .union([z.boolean(), z.literal("auto")], { error: "must be true, false or auto" })
    .optional()
    .describe(
      "Whether a chat model computes attention by parts, which takes less memory. auto: where model and device can. Default: auto.",
    ),
  ...samplingFields,
};

/** How chat models are run, checked. */
export type ChatEngine = {
  readonly [name in keyof typeof chatEngineFields]?: z.output<(typeof chatEngineFields)[name]>;
};

/** A LoRA of a chat model, checked. */
export type Lora = z.output<typeof chatLora>;

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
  loras: z
    .array(chatLora)
    .optional()
    .describe(
      "LoRAs that change the model in all calls, as GGUF files; llama.cpp's convert_lora_to_gguf.py makes them. Default: none.",
    ),
  gpu: gpuField("the model"),
  ...chatEngineFields,
  load: loadField,
  keep_alive: keepAliveField,
});

/** The entry, checked. */
export type LlamaConfig = z.output<typeof llamaSchema>;
