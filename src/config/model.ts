/** What an operator can set about one model. */
import * as z from "zod";
import { LLMRequestSchema } from "../../gen/lintel/v1/chat_pb.js";
import { choicesOf } from "../core/rules.js";
import { cacheTtl } from "./cache.js";
import { name } from "./fields.js";
import { modelRouting } from "./model-routing.js";

/*
 * Not the number of images: since 1 counts as not set, nobody could ask for one
 * image where the default were another, and so for the same picture again.
 */
const modelDefaults = z.strictObject({
  temperature: z.number().optional(),
  top_p: z.number().optional(),
  top_k: z.int32().optional(),
  max_tokens: z.int32().optional(),
  frequency_penalty: z.number().optional(),
  presence_penalty: z.number().optional(),
  repetition_penalty: z.number().optional(),
  min_p: z.number().optional(),
  width: z.int32().optional().describe("Pixels."),
  height: z.int32().optional().describe("Pixels."),
  guidance_scale: z.number().optional(),
  num_inference_steps: z.int32().optional(),
});

/** Settings of a model, or a name for it. */
export const modelSchema = z.strictObject({
  name: name.describe(
    "Name that callers use. One * in it stands for anything, the longest name that fits wins.",
  ),
  model: name.optional().describe("Name by which the backends know it. Default: the same."),
  backends: z
    .array(name)
    .min(1)
    .optional()
    .describe("Names of the backends that serve it, in order of preference. Default: all."),
  ...modelRouting,
  cache_ttl: cacheTtl(),
  defaults: modelDefaults
    .optional()
    .describe(
      "Values of fields that a request leaves out, or sends with the contract's default; within the contract's bounds, or those of bounds where they are wider.",
    ),
  reasoning_effort: z
    .enum(choicesOf(LLMRequestSchema.field.reasoningEffort))
    .optional()
    .describe("How much it thinks where a request does not say. Default: as it does by itself."),
  max_tokens: z
    .int()
    .min(1)
    .optional()
    .describe("Most tokens of one completion. A default above it is cut to it."),
  context_length: z
    .uint32()
    .min(1)
    .optional()
    .describe(
      "Most tokens of a conversation with its answer, as the lists of models have it. Default: what its server says.",
    ),
  prompt: z
    .enum(["batch", "literal", "encoders"])
    .optional()
    .describe(
      "What | in a prompt means: separates prompts, is part of the model's own syntax, or separates the texts for its several text encoders. Default: what the backend says.",
    ),
  unsupported: z
    .enum(["default", "ignore", "reject"])
    .default("default")
    .describe(
      "Fields that the model does not support: drop those that only tune and refuse the others, drop all with a warning, or refuse all.",
    ),
});
