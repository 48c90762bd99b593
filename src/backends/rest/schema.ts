/** What the configuration says of another gateway. */
import * as z from "zod";
import { bearerToken, serverUrl, withoutQuery } from "../../config/http-fields.js";
import { passUser } from "../end-user.js";
import {
  allowHosts,
  answerTimeouts,
  backendName,
  backendTls,
  furtherHeaders,
  modelEntries,
  passHeaders,
} from "../fields.js";

/** An entry of type `rest`. */
export const restSchema = z.strictObject({
  type: z.literal("rest"),
  name: backendName(),
  url: serverUrl("token or headers")
    .check(withoutQuery)
    .describe("Address of the gateway; /llm and /text-to-image are added."),
  token: bearerToken
    .default("lintel")
    .describe("Bearer token. A gateway in public mode takes any, but wants one."),
  headers: furtherHeaders(),
  tls: backendTls,
  models: modelEntries("at the gateway").describe(
    "The models to use; the contract has no way to list them over REST.",
  ),
  pass_user: passUser("plain"),
  pass_headers: passHeaders(),
  allow_hosts: allowHosts(),
  timeouts: answerTimeouts(
    "Longest time from the request to the first byte of the answer; 0: any.",
  ),
  connections: z
    .int()
    .min(1)
    .default(256)
    .describe("Most connections at once; further calls wait for one."),
});

/** The entry, checked. */
export type RestConfig = z.output<typeof restSchema>;
