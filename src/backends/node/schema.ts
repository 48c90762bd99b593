/** What the configuration says of a node. */
import { z } from "zod";
import { headerValue, withoutUser } from "../../config/http-fields.js";
import { longestWait } from "../../config/quantities.js";
import { isSocketPath, socketMessage, socketPathIn } from "../../socket-path.js";
import { backendName, connectTimeout, modelEntries } from "../fields.js";
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
  token: headerValue()
    .min(1)
    .optional()
    .describe("Bearer token. A node in the mode public takes any, but wants one."),
  models: modelEntries("on the node")
    .optional()
    .describe("The models to use. Default: all that the node lists."),
  refresh_ms: z
    .int()
    .min(100)
    .max(longestWait)
    .default(30_000)
    .describe(
      "How often the node is asked for its models, milliseconds; sooner while it tells of none, and once it is back.",
    ),
  ping_ms: z
    .int()
    .min(1000)
    .max(longestWait)
    .default(20_000)
    .describe("Silence on a busy connection after which it is probed, milliseconds."),
  timeouts: z
    .strictObject({ connect: connectTimeout() })
    .prefault({})
    .describe("How long things may take. Answers may take as long as their calls."),
});

/** The entry, checked. */
export type NodeConfig = z.output<typeof nodeSchema>;
