/**
 * The configuration: the one definition of its fields, their defaults, their
 * meaning and what is allowed. Types and the JSON Schema for editors come out
 * of it.
 */
import * as z from "zod";
import { logLevels } from "../core/log.js";
import { largestBody } from "../doors/door.js";
import { isNetwork } from "../doors/forwarded.js";
import { adminSchema } from "./admin.js";
import { authSchema } from "./auth.js";
import { boundsSchema } from "./bounds.js";
import { budgetAlertsSchema } from "./budget-alerts.js";
import { cacheSchema } from "./cache.js";
import { consoleSchema } from "./console.js";
import { documentsSchema } from "./documents.js";
import { name, origin, path, timeZone } from "./fields.js";
import { guardsSchema } from "./guards.js";
import { httpUrl } from "./http-fields.js";
import { backendSchema } from "./kinds.js";
import { idempotencySchema, limitSettingsSchema } from "./limits.js";
import { mediaSchema } from "./media.js";
import { modelSchema } from "./model.js";
import { routeTimeouts } from "./model-routing.js";
import { pricesSchema } from "./prices.js";
import {
  formatListen,
  listenAddress,
  listenMessage,
  size,
  wait,
  waitOfAtLeast,
  waitOrNone,
} from "./quantities.js";
import { routingSchema } from "./routing.js";
import { safetySchema } from "./safety.js";
import { stateSchema, usageSchema } from "./state.js";
import { telemetrySchema } from "./telemetry.js";
import { workersSchema } from "./workers.js";

/** Of connections, milliseconds: younger ones would be made for a few calls each. */
const shortestAge = 1000;

const proxyAddress = z.string().refine(isNetwork, {
  error: "must be an IP address or a network such as 10.0.0.0/8",
});

const imageHost = z.string().regex(/^[a-z0-9.*:[\]-]+$/, {
  error: "must be a host's name or IP address in lower case, without a port, such as *.example.com",
});

/** Where to listen if nothing is said. */
export const defaultListen = { host: "127.0.0.1", port: 8080 } as const;

/** The configuration. */
export const configSchema = z.strictObject({
  listen: z
    .union([listenAddress, z.array(listenAddress).min(1)], { error: listenMessage })
    .prefault(formatListen(defaultListen))
    .transform((value) => (Array.isArray(value) ? value : [value]))
    .describe("Where to listen: host:port, :port for every interface, unix:/path, or a list."),
  workers: workersSchema,
  reload: z
    .enum(["signal", "watch"])
    .default("signal")
    .describe(
      "When changes of this file apply: on SIGHUP, or also as soon as it, or a file of tls, changes.",
    ),
  public_url: httpUrl
    .optional()
    .describe(
      "Address under which callers reach the gateway; the addresses of images begin with it.",
    ),
  tls: z
    .strictObject({
      cert: path.describe("Certificate chain, PEM."),
      key: path.describe("Private key, PEM."),
      client_ca: path
        .optional()
        .describe(
          "Authorities of clients' certificates, PEM. Then only who shows one of theirs is served. Default: clients show none.",
        ),
    })
    .optional()
    .describe("Serves TLS on every address that is listened on."),
  auth: authSchema.prefault({}).describe("Who may call."),
  admin: adminSchema
    .optional()
    .describe(
      "Administration over the network: tokens and usage. Default: there is none, only lintel tokens and lintel usage.",
    ),
  cors: z
    .strictObject({
      origins: z
        .array(origin)
        .default(["*"])
        .describe(
          "Origins of web pages that may call, as https://example.com or http://localhost:3000; * is all, an empty list none.",
        ),
    })
    .prefault({})
    .describe("Which web pages may call from a browser."),
  console: consoleSchema
    .prefault(true)
    .describe(
      "Whether GET / is a page to try the models in a browser, and how people sign in to it.",
    ),
  trust_proxy: z
    .union([z.boolean(), z.array(proxyAddress)], {
      error: "must be true, false, or a list of the proxies' addresses",
    })
    .default(false)
    .describe(
      "Whose X-Forwarded-Proto, -Host and -Prefix, or Forwarded, say where callers find images, if public_url does not, and whose X-Forwarded-For says from where tokens are used, and in the log who was refused: of every proxy, of none, or of these addresses and networks.",
    ),
  bounds: boundsSchema
    .prefault({})
    .describe("Bounds of request fields. A default outside of them is moved into them."),
  image_hosts: z
    .array(imageHost)
    .default(["*"])
    .describe(
      "Hosts at whose addresses images and files in messages may be; the model server fetches them. One * stands for anything. An empty list: they come in the request only, as data: URLs.",
    ),
  body_limit: size
    .refine((bytes) => bytes >= 1 && bytes <= largestBody, {
      error: "must be from 1 byte to 512MB",
    })
    .prefault("1MiB")
    .describe("Largest request body, at most 512MB."),
  max_connection_age: waitOfAtLeast(shortestAge)
    .optional()
    .describe(
      "How old a connection of a client may become before it is told to make another one; what runs on it ends on it. Default: any age.",
    ),
  max_connection_idle: waitOfAtLeast(shortestAge)
    .optional()
    .describe(
      "How long a connection of a client may be without a call before it is closed. Default: 75s over HTTP/1, 10m over HTTP/2.",
    ),
  default_models: z
    .strictObject({
      chat: name.optional().describe("Default: the first chat model there is."),
      image: name.optional().describe("Default: the first image model there is."),
    })
    .prefault({})
    .describe("What an empty model name means."),
  models: z
    .array(modelSchema)
    .default([])
    .describe(
      "Settings of models, and names for them, which stand instead of those of their backends. Models that no entry leads to are served as their backends have them.",
    ),
  backends: z
    .array(backendSchema)
    .optional()
    .describe(
      "What runs the models. Default: the embedded models (their backend's name is embedded), and the model servers found on this machine (ollama, lmstudio, vllm, webui, comfyui).",
    ),
  memory_budget: size
    .optional()
    .describe(
      "Memory that models of the backends llama and onnx may take together; who was not wanted longest leaves. Default: whatever they take. Embedded models have a budget of their own.",
    ),
  expose_sources: z
    .boolean()
    .default(false)
    .describe("Whether the list of models says where they come from: paths, kinds of servers."),
  timeouts: z
    .strictObject({
      total: wait.prefault("10m").describe("Longest time that one call may take."),
      ...routeTimeouts,
      first_message: waitOrNone
        .prefault("10s")
        .describe("How long the status of a stream is held back for the first message."),
      keep_alive: wait
        .prefault("15s")
        .describe("Silence on an SSE stream after which a comment is sent."),
      shutdown: waitOrNone
        .prefault("30s")
        .describe("How long running calls may take to end on SIGTERM."),
    })
    .prefault({})
    .describe("How long things may take."),
  time_zone: timeZone
    .default("UTC")
    .describe(
      "By whose clocks the periods of budgets, days of images per day, and hours, days and months of lintel usage begin: a zone of IANA's list, such as Europe/Berlin.",
    ),
  state: stateSchema.prefault({}).describe("Where tokens and usage are kept."),
  limits: limitSettingsSchema.prefault({}).describe("How much may be asked of this gateway."),
  prices: pricesSchema
    .prefault([])
    .describe("What models cost, in the unit of budgets. A model without a price costs nothing."),
  budget_alerts: budgetAlertsSchema
    .optional()
    .describe("Who is told when budgets are nearly used up. Default: nobody."),
  idempotency: idempotencySchema
    .prefault({})
    .describe("Answers that are given again to who asks again with the same Idempotency-Key."),
  cache: cacheSchema
    .prefault({})
    .describe("Answers that are given to who asks the same, without a model being asked."),
  documents: documentsSchema
    .prefault({})
    .describe("PDFs in messages, told as their text to models that take no files."),
  usage: usageSchema.prefault({}).describe("Records of calls, for bills and questions."),
  routing: routingSchema
    .prefault({})
    .describe("Which target gets a call, and what happens when one fails."),
  media: mediaSchema.prefault({}).describe("Generated images."),
  guards: guardsSchema
    .default([])
    .describe("Who looks at the texts of calls, in order: each sees what those before it left."),
  safety: safetySchema.prefault({}).describe("The safety check of images."),
  telemetry: telemetrySchema.prefault({}).describe("Metrics and traces."),
  log: z
    .strictObject({
      level: z.enum(logLevels).default("info").describe("Least severity that is logged."),
      sample: z
        .number()
        .min(0)
        .max(1)
        .default(1)
        .describe("Share of the calls without a failure that are logged; failures always are."),
      content: z
        .boolean()
        .default(false)
        .describe("Whether prompts and completions are logged. Keys and pictures never are."),
    })
    .prefault({})
    .describe("Logs, JSON lines on stderr."),
});

/** The configuration after defaults were filled in and values were converted. */
export type Config = z.output<typeof configSchema>;

/** The entry of one backend. */
export type BackendConfig = NonNullable<Config["backends"]>[number];
