/** The safety check of images. */
import * as z from "zod";
import { path } from "./fields.js";
import { bearerToken, serverUrl, withoutQuery } from "./http-fields.js";
import { wait } from "./quantities.js";

const threshold = z
  .number()
  .gt(0)
  .lte(1)
  .default(0.5)
  .describe("Share of certainty from which an image counts as harmful, above 0 to 1.");

/** An OpenAI-compatible moderation endpoint. @param timeout the default */
export const moderationFields = (timeout: string) => ({
  url: serverUrl()
    .check(withoutQuery)
    .describe("Address of an OpenAI-compatible API. Without a path, /v1 is added."),
  api_key: bearerToken
    .optional()
    .describe("Sent as bearer token; best taken from the environment."),
  model: z.string().min(1).default("omni-moderation-latest").describe("The moderation model."),
  timeout: wait.prefault(timeout).describe("Longest time that one check may take."),
});

const moderation = z.strictObject({ type: z.literal("moderation"), ...moderationFields("30s") });

const classifier = z.strictObject({
  type: z.literal("classifier"),
  path: path.describe(
    "Folder of an image classifier as Hugging Face's tools export it to ONNX: config.json, preprocessor_config.json, and model.onnx or onnx/model.onnx.",
  ),
  labels: z
    .array(z.string().min(1))
    .min(1)
    .default(["nsfw"])
    .describe("The model's labels that mean harm; their certainties are added up."),
  threshold,
});

const nsfwjs = z.strictObject({
  type: z.literal("nsfwjs"),
  model: z
    .string()
    .min(1)
    .optional()
    .describe("Name or address of its model. Default: the package's own."),
  labels: z
    .array(z.enum(["Porn", "Hentai", "Sexy", "Drawing", "Neutral"]))
    .min(1)
    .default(["Porn", "Hentai"])
    .describe("The labels that mean harm; their certainties are added up."),
  threshold,
});

/** The safety check of images. */
export const safetySchema = z.strictObject({
  action: z
    .enum(["flag", "blur", "block"])
    .default("flag")
    .describe(
      "What happens to an image that the safety check finds harmful. Who sends safety_check: false has none.",
    ),
  checker: z
    .discriminatedUnion("type", [moderation, classifier, nsfwjs])
    .optional()
    .describe(
      "Who looks at the images: an OpenAI-compatible moderation endpoint, an image classifier on this machine, or the package nsfwjs (npm install nsfwjs). A model's own checker counts besides. Default: nobody else.",
    ),
  on_failure: z
    .enum(["closed", "open"])
    .default("closed")
    .describe(
      "What happens while the checker fails: closed: requests for images fail with 503. open: images are answered unchecked, with a warning.",
    ),
});

/** The part of the configuration after defaults were filled in. */
export type SafetyConfig = z.output<typeof safetySchema>;
