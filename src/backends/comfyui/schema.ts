/** The entry of a ComfyUI server in the configuration. */
import * as z from "zod";
import { path } from "../../config/fields.js";
import { headers, serverUrl, withoutQuery } from "../../config/http-fields.js";
import { wait, waitOrNone } from "../../config/quantities.js";
import { backendName, backendTls, connectTimeout, passHeaders } from "../fields.js";

const input = z
  .string()
  .regex(/^[^.]+\.[^.].*$/, { error: 'must be a node and its input, for example "6.text"' });

/** One input, or several that get the same value. */
const inputs = (what: string) =>
  z
    .union([input, z.array(input).min(1)], {
      error: 'must be a node and its input, for example "6.text", or a list of these',
    })
    .transform((value) => (Array.isArray(value) ? value : [value]))
    .optional()
    .describe(what);

/** Where a request's fields go in a workflow. */
export const mapSchema = z.strictObject({
  prompt: inputs("Inputs that get the prompt."),
  negative_prompt: inputs("Inputs that get the negative prompt."),
  width: inputs("Inputs that get the width."),
  height: inputs("Inputs that get the height."),
  guidance_scale: inputs("Inputs that get the guidance scale."),
  num_inference_steps: inputs("Inputs that get the number of steps."),
  seed: inputs("Inputs that get the seed. Without it every image is the same."),
  checkpoint: inputs("Inputs that get the name of the checkpoint's file."),
  loras: z
    .string()
    .min(1)
    .optional()
    .describe(
      "Node whose outputs 0 and 1 are the model and the text encoder; LoRAs are put behind it.",
    ),
  output: z
    .string()
    .min(1)
    .optional()
    .describe("Node that gives the image. Default: the first one that saves or previews images."),
});

const model = z
  .strictObject({
    name: z.string().min(1).describe("Name for callers."),
    checkpoint: z
      .string()
      .min(1)
      .optional()
      .describe("File of the checkpoint as ComfyUI lists it. Default: the one that is called so."),
    workflow: z
      .enum(["auto", "sd", "sdxl"])
      .default("auto")
      .describe("Workflow that comes with Lintel. auto: sdxl where the checkpoint's name says so."),
    file: path
      .optional()
      .describe("Your own workflow, as ComfyUI exports it for the API, instead."),
    map: mapSchema.optional().describe("Where the fields of requests go in your own workflow."),
  })
  .superRefine(({ file, map }, context) => {
    const wrong = (key: string, message: string) =>
      context.addIssue({ code: "custom", path: [key], message });
    if (map && !file) wrong("map", "is for your own workflow: file is missing");
    if (file && !map?.prompt) wrong("map", "must say where the prompt goes, at least");
  });

/** A ComfyUI server. */
export const comfyuiSchema = z.strictObject({
  type: z.literal("comfyui"),
  name: backendName(),
  url: serverUrl("headers")
    .check(withoutQuery)
    .describe("Address of ComfyUI, for example http://127.0.0.1:8188."),
  headers: headers
    .default({})
    .describe("Headers of every request to it, for a proxy that wants authorization."),
  tls: backendTls,
  pass_headers: passHeaders(),
  models: z
    .array(model)
    .min(1)
    .optional()
    .describe("The models to serve. Default: every checkpoint, with a workflow of Lintel's."),
  sampler: z.string().min(1).optional().describe("Sampler in Lintel's workflows. Default: euler."),
  scheduler: z
    .string()
    .min(1)
    .optional()
    .describe("Scheduler in Lintel's workflows. Default: normal."),
  timeouts: z
    .strictObject({ connect: connectTimeout() })
    .prefault({})
    .describe("How long things may take. An image may take as long as its call."),
  poll: wait
    .prefault("1s")
    .describe("How often ComfyUI's queue is looked at while a request waits in it."),
  refresh: waitOrNone
    .prefault("60s")
    .describe("How often the list of checkpoints is read again; 0: never."),
});

/** The entry after defaults were filled in. */
export type ComfyuiConfig = z.output<typeof comfyuiSchema>;

/** A model's entry. */
export type ComfyuiModel = NonNullable<ComfyuiConfig["models"]>[number];

/** Where a request's fields go; several inputs may get the same. */
export type InputMap = z.output<typeof mapSchema>;
