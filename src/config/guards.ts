/** Who looks at the texts of calls. */
import * as z from "zod";
import { passUser } from "../backends/end-user.js";
import { furtherHeaders } from "../backends/fields.js";
import { guardedMessages, guardedRoles } from "../core/guards/guard.js";
import { wrongWith } from "../guards/expressions.js";
import { type Kind, kinds } from "../guards/kinds.js";
import { modelPattern, name } from "./fields.js";
import { bearerToken, serverUrl, signingSecrets, withoutFragment } from "./http-fields.js";
import { periodOrNone, wait } from "./quantities.js";
import { moderationFields } from "./safety.js";

/** It stands in texts, in brackets: in JSON, too, and in prompts of images, whose `|` parts them. */
const guardName = name
  .max(100)
  .regex(/^[^[\]{}"\\,|]*$/, { error: 'must have none of [ ] { } " \\ , and |' })
  .describe("Names it in errors, logs and metrics, and what it masks; unique.");

const common = {
  name: guardName,
  look_at: z
    .array(z.enum(["prompts", "answers"]))
    .min(1)
    .default(["prompts"])
    .describe("Which texts: what callers send (prompts), what models answer (answers)."),
  roles: z
    .array(z.enum(guardedRoles))
    .min(1)
    .optional()
    .describe(
      "Of whose messages it looks at prompts: tools and all else that is in no message are the system's. Default: of everybody's.",
    ),
  messages: z
    .enum(guardedMessages)
    .default("all")
    .describe(
      "Which messages of a conversation it looks at: all, or those of the last turn alone (last_turn): what came behind the model's last answer. Tools and all else that is in no message are of the first turn.",
    ),
  models: z
    .array(modelPattern)
    .min(1)
    .default(["*"])
    .describe(
      "Models whose calls it looks at, by the names under which they count; one * stands for anything.",
    ),
  on_failure: z
    .enum(["closed", "open"])
    .default("closed")
    .describe(
      "What happens while it fails: closed: calls fail with 503, and with 400 what it can never look at. open: texts pass without its look, with a warning.",
    ),
};

/** Of guards that a server is asked for. */
const images = z
  .boolean()
  .default(false)
  .describe(
    "Whether it also looks at images of prompts, and at pictures that chats answer with. Where the server takes no images, calls with one fail.",
  );

/** Answers are of the model alone. */
const hearsPrompts = ({ roles, look_at }: { roles?: unknown; look_at: readonly string[] }) =>
  roles === undefined || look_at.includes("prompts");
const unheard = {
  path: ["roles"],
  error: "wants prompts in look_at: answers are the model's alone",
};

/** An answer is of its own turn. */
const turnsPrompts = ({ messages, look_at }: { messages: string; look_at: readonly string[] }) =>
  messages === "all" || look_at.includes("prompts");
const unturned = {
  path: ["messages"],
  error: "wants prompts in look_at: an answer is of the last turn anyway",
};

/** What was masked in one turn comes again with the next, as its caller wrote it. */
const masksAll = ({ messages, action, look_at }: Masking) =>
  messages === "all" || action !== "mask" || !look_at.includes("prompts");
interface Masking {
  readonly messages: string;
  readonly action: string;
  readonly look_at: readonly string[];
}
const unmasked = {
  path: ["messages"],
  error: "must be all with action: mask: callers send what was masked again with the next turn",
};

const expression = z
  .string()
  .min(1)
  .superRefine((text, context) => {
    const wrong = wrongWith(text);
    if (wrong !== undefined) {
      context.addIssue({
        code: "custom",
        message: `must be a regular expression of RE2: ${wrong}`,
      });
    }
  });

const pattern = z
  .strictObject({
    type: z.literal("pattern"),
    ...common,
    find: z
      .array(z.enum(Object.keys(kinds) as [Kind, ...Kind[]]))
      .default([])
      .describe("Kinds of data that it finds by their form, and by their checksum."),
    patterns: z
      .array(expression)
      .default([])
      .describe("Regular expressions in RE2's syntax for what else it finds."),
    action: z
      .enum(["block", "mask", "flag"])
      .default("mask")
      .describe(
        "What happens where it finds something: block: the call is refused. mask: [email], or [its name], stands in its place. flag: the log and a metric tell.",
      ),
  })
  .refine(({ find, patterns }) => find.length + patterns.length > 0, {
    error: "must have find or patterns",
  })
  .refine(hearsPrompts, unheard)
  .refine(turnsPrompts, unturned)
  .refine(masksAll, unmasked);

const moderation = z
  .strictObject({
    type: z.literal("moderation"),
    ...common,
    images,
    ...moderationFields("10s"),
    remember: periodOrNone
      .prefault("0s")
      .describe(
        "How long what it said of a text or an image of prompts holds: within it the same one is not asked about again. 0: it is asked each time.",
      ),
    action: z
      .enum(["block", "flag"])
      .default("block")
      .describe(
        "What happens where it finds something: block: the call is refused. flag: the log and a metric tell.",
      ),
  })
  .refine(hearsPrompts, unheard)
  .refine(turnsPrompts, unturned);

const webhook = z
  .strictObject({
    type: z.literal("webhook"),
    ...common,
    images,
    url: serverUrl()
      .check(withoutFragment)
      .describe("Address of a server that says what becomes of texts (docs/guards.md)."),
    api_key: bearerToken
      .optional()
      .describe("Sent as bearer token; best taken from the environment."),
    headers: furtherHeaders(),
    signing_secrets: signingSecrets,
    pass_user: passUser("never"),
    timeout: wait.prefault("10s").describe("Longest time that one question may take."),
  })
  .refine(hearsPrompts, unheard)
  .refine(turnsPrompts, unturned);

/** One guard. */
const guardSchema = z.discriminatedUnion("type", [pattern, moderation, webhook]);

/** The guards, in their order. */
export const guardsSchema = z.array(guardSchema);

/** One guard after defaults were filled in. */
export type GuardConfig = z.output<typeof guardSchema>;
