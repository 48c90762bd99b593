/** What the configuration says of a node. */
import * as z from "zod";
import { bearerToken, withoutUser } from "../../config/http-fields.js";
import { waitOfAtLeast } from "../../config/quantities.js";
import { isSocketPath, socketMessage, socketPathIn } from "../../socket-path.js";
import { passUser } from "../end-user.js";
import { backendName, backendTls, connectTimeout, modelEntries, passHeaders } from "../fields.js";
import { addressPattern, isAddress } from "./address.js";

const addressMessage = "must be http://host:port, https://host or unix:/path";

/** An entry of type `node`. */
export const nodeSchema = z.strictObject({
  type: z.literal("node"),
  name: backendName(),
  address: z
    .string()
    .regex(addressPattern, { error: addressMessage, abort: true })
    .refine(isAddress, { error: addressMessage, abort: true })
    .refine((text) => !text.startsWith("unix:") || isSocketPath(socketPathIn(text)), {
      error: socketMessage,
    })
    .check(withoutUser("token"))
    .describe("Where the node listens: http://host:port, https://host, or unix:/path."),
  token: bearerToken
    .min(1)
    .optional()
    .describe("Bearer token. A node in the mode public takes any, but wants one."),
  tls: backendTls,
  models: modelEntries("on the node")
    .optional()
    .describe("The models to use. Default: all that the node lists."),
  pass_user: passUser("plain"),
  pass_headers: passHeaders(),
  refresh: waitOfAtLeast(100)
    .prefault("30s")
    .describe(
      "How often the node is asked for its models; sooner while it tells of none, and once it is back.",
    ),
  ping: waitOfAtLeast(1000)
    .prefault("20s")
    .describe("Silence on a busy connection after which it is probed."),
  timeouts: z
    .strictObject({ connect: connectTimeout() })
    .prefault({})
    .describe("How long things may take. Answers may take as long as their calls."),
});

/** The entry, checked. */
export type NodeConfig = z.output<typeof nodeSchema>;
