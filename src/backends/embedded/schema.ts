/** What the configuration says of embedded models. */
import * as z from "zod";
import { name, path } from "../../config/fields.js";
import { size, waitOrNone } from "../../config/quantities.js";
import { backendName, keepAliveField, loadField } from "../fields.js";
import { gpuField } from "../gpu.js";
import { chatEngineFields, chatLora, chatTemplate } from "../llama/schema.js";

/** Milliseconds: what takes less is no sign that an engine hangs. */
const leastWatchdog = 60_000;

/** An entry of type `embedded`. */
export const embeddedSchema = z.strictObject({
  type: z.literal("embedded"),
  name: backendName(),
  models: z
    .array(path)
    .min(1)
    .optional()
    .describe(
      "GGUF files, names on Hugging Face (hf:user/repository:Q4_K_M), folders in diffusers' layout as ONNX files, or folders of these. Default: the two models that Lintel brings.",
    ),
  chat_templates: z
    .record(name, chatTemplate)
    .optional()
    .describe(
      `Jinja templates that make prompts of conversations, by names of models, instead of their files' own; \${file:my-template.jinja} reads one.`,
    ),
  loras: z
    .record(name, z.array(chatLora))
    .optional()
    .describe(
      "LoRAs that change chat models in all calls, by names of models, as GGUF files. Default: none.",
    ),
  gpu: gpuField("each model"),
  ...chatEngineFields,
  load: loadField,
  keep_alive: keepAliveField,
  memory_budget: size
    .optional()
    .describe(
      "Memory that the models may take together; who was not wanted longest leaves. Default: whatever they take.",
    ),
  watchdog: waitOrNone
    .refine((ms) => ms === 0 || ms >= leastWatchdog, { error: "must be 0, or at least 1m" })
    .optional()
    .describe(
      "How long an engine may be at one piece of work, as a batch of tokens, a step of a picture or a load that does not get on, until the process is killed and started anew; also where it does not answer for that long, at most 5m. 0: for as long as it likes. Default: 30m.",
    ),
});

/** The entry, checked. */
export type EmbeddedConfig = z.output<typeof embeddedSchema>;
