/** The entry of a provider of the Vercel AI SDK in the configuration. */
import * as z from "zod";
import { passUser } from "../end-user.js";
import {
  allowHosts,
  answerTimeouts,
  backendName,
  passHeaders,
  requestField,
  thinkTags,
} from "../fields.js";

const model = z.strictObject({
  id: z.string().min(1).describe("Name of the model at the provider."),
  task: z.enum(["chat", "image"]).default("chat").describe("What the model does."),
  supports: z
    .array(requestField())
    .optional()
    .describe("Request fields that it honours. Default: what its provider can do."),
  max_tokens: z.int().min(1).optional().describe("Most tokens of one completion."),
  provider_options: z
    .record(z.string(), z.record(z.string(), z.unknown()))
    .optional()
    .describe("Sent with every request to this model, by the provider's key."),
});

/** An entry of type `ai-sdk`. */
export const aiSdkSchema = z.strictObject({
  type: z.literal("ai-sdk"),
  name: backendName(),
  package: z
    .string()
    .regex(/^(?:@[a-z0-9][\w.-]*\/)?[a-z0-9][\w.-]*(?:\/[\w.-]+)*$/, {
      error: "must be the name of an npm package, such as @ai-sdk/anthropic",
    })
    .describe("Package of the provider, such as @ai-sdk/anthropic; installed by you."),
  export: z
    .string()
    .regex(/^[A-Za-z_$][\w$]*$/, { error: "must be the name of an exported function" })
    .optional()
    .describe("Function that makes the provider. Default: the package's one create function."),
  options: z
    .record(z.string(), z.unknown())
    .default({})
    .describe(
      "Given to that function: apiKey, baseURL, headers, region… Without apiKey the provider looks for its usual environment variable.",
    ),
  models: z.array(model).min(1).describe("The models to use; providers do not list theirs."),
  provider_options: z
    .record(z.string(), z.record(z.string(), z.unknown()))
    .default({})
    .describe("Sent with every request, by the provider's key."),
  allow_hosts: allowHosts(),
  think_tags: thinkTags(),
  pass_user: passUser("never"),
  pass_headers: passHeaders(),
  timeouts: answerTimeouts("Longest time from the request to the head of the answer; 0: any."),
});

/** The entry, checked. */
export type AiSdkConfig = z.output<typeof aiSdkSchema>;

/** A model of the entry. */
export type AiSdkModel = AiSdkConfig["models"][number];
