/** The entry of an OpenAI-compatible model server in the configuration. */
import * as z from "zod";
import { bearerToken, serverUrl } from "../../config/http-fields.js";
import { waitOrNone } from "../../config/quantities.js";
import { passUser } from "../end-user.js";
import {
  allowHosts,
  answerTimeouts,
  backendName,
  backendTls,
  furtherHeaders,
  passHeaders,
  sessionHeader,
  thinkTags,
} from "../fields.js";
import { dialectNames } from "./dialects.js";

/** An OpenAI-compatible model server. */
export const openaiSchema = z.strictObject({
  type: z.literal("openai"),
  name: backendName(),
  url: serverUrl().describe(
    "Address of the API. Without a path, /v1 is added; an address that ends in /chat/completions is taken as it is.",
  ),
  api_key: bearerToken
    .optional()
    .describe("Sent as bearer token; best taken from the environment."),
  headers: furtherHeaders(),
  tls: backendTls,
  models: z
    .array(z.string().min(1))
    .min(1)
    .optional()
    .describe("Names of the models to serve. Default: those that the server lists."),
  image_models: z
    .array(z.string().min(1))
    .min(1)
    .optional()
    .describe("Names of the models that make images. Default: their names tell."),
  dialect: z
    .enum(["auto", ...dialectNames])
    .default("auto")
    .describe("Which server it is, and so which fields it takes. auto: it is found out."),
  think_tags: thinkTags(),
  pass_user: passUser("never"),
  session_header: sessionHeader(),
  pass_headers: passHeaders(),
  allow_hosts: allowHosts(),
  max_tokens: z.int().min(1).optional().describe("Most tokens of one completion."),
  timeouts: answerTimeouts(
    "Longest time from the request to the first byte of the answer; models load in it. 0: any.",
  ),
  connections: z
    .int()
    .min(1)
    .default(256)
    .describe("Most connections at once; further calls wait for one."),
  refresh: waitOrNone
    .prefault("60s")
    .describe("How often the server's list of models is read again; 0: never."),
});

/** The entry after defaults were filled in. */
export type OpenaiConfig = z.output<typeof openaiSchema>;
