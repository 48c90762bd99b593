/** What the configuration says of another gateway. */
import { z } from "zod";
import { wait, waitOrNone } from "../../config/quantities.js";
import {
  allowHosts,
  furtherHeaders,
  headerValue,
  requestField,
  serverUrl,
  withoutQuery,
} from "../http/fields.js";

/** An entry of type `rest`. */
export const restSchema = z.strictObject({
  type: z.literal("rest"),
  name: z.string().min(1).describe("Name of the backend, unique."),
  url: serverUrl("token or headers")
    .check(withoutQuery)
    .describe("Address of the gateway; /llm and /text-to-image are added."),
  token: headerValue()
    .default("lintel")
    .describe("Bearer token. A gateway in public mode takes any, but wants one."),
  headers: furtherHeaders(),
  models: z
    .array(
      z.strictObject({
        id: z.string().min(1).describe("Name of the model at the gateway."),
        task: z.enum(["chat", "image"]).describe("What the model does."),
        supports: z
          .array(requestField())
          .optional()
          .describe("Request fields that it honours. Default: all."),
        max_tokens: z.int().min(1).optional().describe("Most tokens of one completion."),
      }),
    )
    .min(1)
    .describe("The models to use; the contract has no way to list them over REST."),
  allow_hosts: allowHosts(),
  timeouts: z
    .strictObject({
      connect: wait().prefault("5s").describe("Longest time to connect."),
      first_token: waitOrNone()
        .prefault("5m")
        .describe("Longest time from the request to the first byte of the answer; 0: any."),
      idle: waitOrNone().prefault("60s").describe("Longest silence within an answer; 0: any."),
    })
    .prefault({})
    .describe("How long things may take."),
  connections: z
    .int()
    .min(1)
    .default(256)
    .describe("Most connections at once; further calls wait for one."),
});

/** The entry, checked. */
export type RestConfig = z.output<typeof restSchema>;
