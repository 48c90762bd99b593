/** The entry of a server of the Stable Diffusion web API in the configuration. */
import * as z from "zod";
import { serverUrl, withoutQuery } from "../../config/http-fields.js";
import { wait, waitOrNone } from "../../config/quantities.js";
import { backendName, backendTls, connectTimeout, furtherHeaders, passHeaders } from "../fields.js";
import { dialectNames } from "./dialect.js";

/** A server that speaks `/sdapi/v1`. */
export const sdapiSchema = z
  .strictObject({
    type: z.literal("sdapi"),
    name: backendName(),
    url: serverUrl("username and password")
      .check(withoutQuery)
      .describe(
        "Address of AUTOMATIC1111, Forge, SD.Next, KoboldCpp or stable-diffusion.cpp's server, without /sdapi/v1.",
      ),
    username: z
      .string()
      .regex(/^[^:]+$/, { error: "must be a name without a colon" })
      .optional()
      .describe("User of the server's API (--api-auth), for Basic authentication."),
    password: z.string().optional().describe("The user's password; best from the environment."),
    headers: furtherHeaders(),
    tls: backendTls,
    pass_headers: passHeaders(),
    models: z
      .array(z.string().min(1))
      .min(1)
      .optional()
      .describe("Names or titles of the checkpoints to serve. Default: all that the server lists."),
    dialect: z
      .enum(["auto", ...dialectNames])
      .default("auto")
      .describe("Which server it is. auto: it is found out."),
    sampler: z.string().min(1).optional().describe("Name of the sampler. Default: the server's."),
    scheduler: z
      .string()
      .min(1)
      .optional()
      .describe("Name of the scheduler. Default: the server's."),
    batch: z
      .int()
      .min(1)
      .max(8)
      .default(1)
      .describe(
        "Most images of one prompt that are made at once; more is faster and needs memory.",
      ),
    parameters: z
      .record(z.string(), z.unknown())
      .default({})
      .describe("Further fields of every txt2img request, as the server's API has them."),
    timeouts: z
      .strictObject({ connect: connectTimeout() })
      .prefault({})
      .describe("How long things may take. An image may take as long as its call."),
    poll: wait.prefault("500ms").describe("How often the progress of a running image is asked."),
    refresh: waitOrNone
      .prefault("60s")
      .describe("How often the list of checkpoints is read again; 0: never."),
  })
  .refine(({ username, password }) => password === undefined || username !== undefined, {
    path: ["username"],
    error: "is required where there is a password",
  });

/** The entry after defaults were filled in. */
export type SdapiConfig = z.output<typeof sdapiSchema>;
