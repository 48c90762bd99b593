/** Fields that entries of several kinds of backends have. */
import * as z from "zod";
import { clientTls, name } from "../config/fields.js";
import { headers, lowerHeaderName } from "../config/http-fields.js";
import { wait, waitOrNone } from "../config/quantities.js";
import { methods } from "../core/methods.js";
import { messageParameters } from "../core/parameters.js";
import { allowPattern } from "./http/allow.js";

/** What targets, checks and logs call a backend. */
export const backendName = () => z.string().min(1).describe("Name of the backend, unique.");

/** When a model is loaded. */
export const loadField = z
  .enum(["start", "lazy"])
  .optional()
  .describe(
    "When the model is loaded: at start, or with the first call. Default: start; lazy under a memory budget.",
  );

/** How long a model stays in memory. */
export const keepAliveField = wait
  .optional()
  .describe(
    "How long a model stays in memory that no call wants, such as 30m; the next call loads it again. Default: for good, or until others need its room.",
  );

/** Certificates of connections to a server. */
export const backendTls = clientTls({
  server_name: name
    .optional()
    .describe("Name that its certificate is for. Default: the host of its address."),
})
  .optional()
  .describe("Certificates for https://. What the files hold counts for each new connection.");

/** Headers of every request to a server, besides what requests have anyway. */
export const furtherHeaders = () =>
  headers.default({}).describe("Further headers of every request to it.");

/** Headers that requests have for something else. */
const taken =
  /^(?:host|connection|keep-alive|te|trailer|transfer-encoding|upgrade|expect|accept|authorization|content-.+|user-agent|trace(?:parent|state))$/;

/** Headers that say who calls a gateway, which no server is to know, or are about one connection, one body or one call of it. */
const ownOfGateways =
  /^(?:x-api-key|x-goog-api-key|api-key|cookie|accept-.+|proxy-.+|grpc-.+|connect-.+|.+-bin|x-request-id|x-request-timeout-ms|x-lintel-.+|idempotency-key)$/;

/** Headers of callers that a server is told as they are. */
export const passHeaders = () =>
  z
    .array(
      lowerHeaderName.refine((header) => !taken.test(header) && !ownOfGateways.test(header), {
        error: "must be no header that requests have anyway, or that callers are known by",
      }),
    )
    .default([])
    .describe(
      "Headers of callers, or entries of RPC metadata, that it is told as they are, such as x-tenant. Default: none.",
    );

/** The header in which a server, or a router before it, is told which calls belong together. */
export const sessionHeader = () =>
  lowerHeaderName
    .refine((header) => !taken.test(header), {
      error: "must be no header that requests have anyway",
    })
    .optional()
    .describe(
      "A header in which it, or a router before it, is told which calls belong together: the SHA-256, in hex, of what routing.affinity_header or prompt_cache_key says. Default: none, but what xAI has for it.",
    );

const requestFields = new Set([
  ...[methods.chat, methods.textToImage].flatMap(({ input }) =>
    input.fields.map(({ name }) => name),
  ),
  ...messageParameters,
]);

/** The name of a field that requests have. */
export const requestField = () =>
  z.string().refine((name) => requestFields.has(name), { error: "must be a request field" });

/**
 * Models of a server of the contract, at least one.
 * @param where they are, for example "on the node"
 */
export const modelEntries = (where: string) =>
  z
    .array(
      z.strictObject({
        id: z.string().min(1).describe(`Name of the model ${where}.`),
        task: z.enum(["chat", "image"]).describe("What the model does."),
        supports: z
          .array(requestField())
          .optional()
          .describe("Request fields that it honours. Default: all."),
        max_tokens: z.int().min(1).optional().describe("Most tokens of one completion."),
      }),
    )
    .min(1);

/** Time to a connection. */
export const connectTimeout = () => wait.prefault("5s").describe("Longest time to connect.");

/**
 * Times of an answer that comes bit by bit.
 * @param firstToken what `first_token` is about
 */
export const answerTimeouts = (firstToken: string) =>
  z
    .strictObject({
      connect: connectTimeout(),
      first_token: waitOrNone.prefault("5m").describe(firstToken),
      idle: waitOrNone.prefault("60s").describe("Longest silence within an answer; 0: any."),
    })
    .prefault({})
    .describe("How long things may take.");

const allowMessage =
  "must be a host (cdn.example.com, *.example.com) or an origin (http://10.0.0.5:9000)";

/** Where images may be fetched from besides the server itself. */
export const allowHosts = () =>
  z
    .array(
      z
        .string()
        .regex(allowPattern, { error: allowMessage, abort: true })
        .refine((entry) => !entry.includes("://") || URL.canParse(entry), { error: allowMessage }),
    )
    .default([])
    .describe("Where images may be fetched from besides the server itself: hosts, or origins.");

/** Where servers leave what models think in the text. */
export const thinkTags = () =>
  z
    .enum(["auto", "begun", "never"])
    .default("auto")
    .describe(
      "Where thoughts stand in the text, because the server does not take them out: in <think>…</think> at its beginning (auto), or up to </think>, since the template has begun them (begun). never: all text is the answer.",
    );
