/** What the configuration says of a node. */
import { z } from "zod";
import { longestWait } from "../../config/quantities.js";
import { headerValue, requestField, withoutUser } from "../http/fields.js";
import { addressPattern, isAddress } from "./address.js";

const addressMessage = "must be http://host:port, https://host or unix:/path";

/** An entry of type `node`. */
export const nodeSchema = z.strictObject({
  type: z.literal("node"),
  name: z.string().min(1).describe("Name of the backend, unique."),
  address: z
    .string()
    .regex(addressPattern, { error: addressMessage, abort: true })
    .refine(isAddress, { error: addressMessage, abort: true })
    .check(withoutUser("token"))
    .describe("Where the node listens: http://host:port, https://host, or unix:/path."),
  token: headerValue()
    .min(1)
    .optional()
    .describe("Bearer token. A node in the mode public takes any, but wants one."),
  models: z
    .array(
      z.strictObject({
        id: z.string().min(1).describe("Name of the model on the node."),
        task: z.enum(["chat", "image"]).describe("What the model does."),
        supports: z
          .array(requestField())
          .optional()
          .describe("Request fields that it honours. Default: all."),
        max_tokens: z.int().min(1).optional().describe("Most tokens of one completion."),
      }),
    )
    .min(1)
    .optional()
    .describe("The models to use. Default: all that the node lists."),
  refresh_ms: z
    .int()
    .min(100)
    .max(longestWait)
    .default(30_000)
    .describe("How often the node is asked for its models, milliseconds."),
  ping_ms: z
    .int()
    .min(1000)
    .max(longestWait)
    .default(20_000)
    .describe("Silence on a busy connection after which it is probed, milliseconds."),
});

/** The entry, checked. */
export type NodeConfig = z.output<typeof nodeSchema>;
