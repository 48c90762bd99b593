/** Who watches, and where what is seen goes to. */
import { join } from "node:path";
import * as z from "zod";
import type { OperatorSettings } from "../operator.js";
import { defaultStateDirectory } from "../state/directory.js";
import { type OtlpSettings, otlpProtocols, type TelemetrySettings } from "../telemetry/settings.js";
import { headers, httpUrl } from "./http-fields.js";
import { otelDisabled, otlpProtocolOf, otlpVariable } from "./otlp-environment.js";
import { listenAddress, longestWait, wait } from "./quantities.js";
import type { BackendConfig, Config } from "./schema.js";

/** The section `telemetry` of the configuration. */
export const telemetrySchema = z.strictObject({
  prometheus: z
    .union(
      [
        z.boolean(),
        z.strictObject({
          listen: listenAddress.describe("host:port, :port, or unix:/path."),
        }),
      ],
      { error: "must be true, false, or an address: { listen: 127.0.0.1:9464 }" },
    )
    .default(false)
    .describe(
      "Metrics for Prometheus at /metrics: not at all, at every address that is listened on, or at an address of their own.",
    ),
  otlp: z
    .strictObject({
      endpoint: httpUrl
        .optional()
        .describe(
          "Base address of a collector, OTLP over HTTP. Default: OTEL_EXPORTER_OTLP_ENDPOINT, then http://localhost:4318.",
        ),
      headers: headers
        .optional()
        .describe("Sent with every export. Default: OTEL_EXPORTER_OTLP_HEADERS."),
      protocol: z
        .enum(otlpProtocols)
        .optional()
        .describe(
          "http/protobuf, which every collector takes, or http/json. Default: OTEL_EXPORTER_OTLP_PROTOCOL, then http/protobuf.",
        ),
      interval: wait
        .optional()
        .describe(
          "Time between two exports of metrics. Default: OTEL_METRIC_EXPORT_INTERVAL, then 60s.",
        ),
      traces: z.boolean().optional().describe("Whether traces go out. Default: yes."),
      metrics: z.boolean().optional().describe("Whether metrics go out. Default: yes."),
      sample_ratio: z
        .number()
        .min(0)
        .max(1)
        .optional()
        .describe(
          "Share of the traces that are recorded; a caller's own decision counts more. Default: as OTEL_TRACES_SAMPLER says, then all.",
        ),
      content: z
        .boolean()
        .optional()
        .describe(
          "Whether the spans of calls have prompts, completions, thoughts and calls of tools: who sees the traces reads them. Default: no.",
        ),
    })
    .optional()
    .describe(
      "Traces and metrics to a collector. Default: off, unless OTEL_EXPORTER_OTLP_ENDPOINT is set.",
    ),
  top: z
    .boolean()
    .default(true)
    .describe("Whether lintel top can look, over a Unix socket in the state folder."),
});

type Env = Readonly<Record<string, string | undefined>>;

/**
 * What is recorded of calls.
 * @param providers of backends, by the backends' names; may change later
 */
export function telemetrySettings(
  { admin, telemetry }: Config,
  providers: ReadonlyMap<string, string>,
  version: string,
  env: Env = process.env,
): TelemetrySettings {
  const { prometheus, top } = telemetry;
  return {
    prometheus: prometheus !== false,
    otlp: otlpSettings(telemetry.otlp, env),
    // Administrators may look as well.
    status: top || admin !== undefined,
    providers,
    version,
  };
}

/** The operator's own ways in. */
export function operatorSettings({ telemetry, state }: Config): OperatorSettings {
  const { prometheus, top } = telemetry;
  return {
    prometheus: typeof prometheus === "object" ? prometheus.listen : undefined,
    sockets: top ? socketsFolder(state.directory) : undefined,
  };
}

/** The folder of the sockets for `lintel top`. */
export const socketsFolder = (state: string | undefined): string =>
  join(state ?? defaultStateDirectory(), "run");

/** Metrics are exported once a minute, unless somebody says otherwise. */
const usualInterval = 60_000;

/** Where traces and metrics go to; what is not configured is as the environment says. */
export function otlpSettings(
  otlp?: Config["telemetry"]["otlp"],
  env: Env = process.env,
): OtlpSettings | undefined {
  const of = (signal: string) => otlpVariable(env, `${signal}ENDPOINT`);
  const told = Boolean(of("") || of("TRACES_") || of("METRICS_"));
  if (otelDisabled(env) || (!otlp && !told)) return undefined;
  // With an address for one signal alone, the other one has nowhere to go.
  const wanted = (signal: "TRACES" | "METRICS") =>
    env[`OTEL_${signal}_EXPORTER`] !== "none" && Boolean(otlp || of("") || of(`${signal}_`));
  const interval = Number(env.OTEL_METRIC_EXPORT_INTERVAL);
  const { traces = wanted("TRACES"), metrics = wanted("METRICS") } = otlp ?? {};
  if (!traces && !metrics) return undefined;
  return {
    endpoint: otlp?.endpoint,
    headers: otlp?.headers,
    protocols: {
      traces: otlp?.protocol ?? otlpProtocolOf("TRACES", env).protocol,
      metrics: otlp?.protocol ?? otlpProtocolOf("METRICS", env).protocol,
    },
    // A longer one, which somebody may mean for never, would have them exported all the time.
    intervalMs: otlp?.interval ?? Math.min(interval > 0 ? interval : usualInterval, longestWait),
    traces,
    metrics,
    sampleRatio: otlp?.sample_ratio,
    content: otlp?.content,
  };
}

/** Providers that OpenTelemetry has a name for, by what their servers' addresses end with. */
const knownHosts: readonly (readonly [string, string])[] = [
  ["api.openai.com", "openai"],
  ["openai.azure.com", "azure.ai.openai"],
  ["models.ai.azure.com", "azure.ai.inference"],
  ["api.anthropic.com", "anthropic"],
  ["api.mistral.ai", "mistral_ai"],
  ["api.deepseek.com", "deepseek"],
  ["api.groq.com", "groq"],
  ["api.x.ai", "x_ai"],
  ["api.perplexity.ai", "perplexity"],
  ["api.cohere.ai", "cohere"],
  ["api.cohere.com", "cohere"],
  ["api.moonshot.ai", "moonshot_ai"],
  ["generativelanguage.googleapis.com", "gcp.gemini"],
  ["aiplatform.googleapis.com", "gcp.vertex_ai"],
];

/** By package of the Vercel AI SDK. */
const knownPackages: Readonly<Record<string, string>> = {
  "@ai-sdk/openai": "openai",
  "@ai-sdk/azure": "azure.ai.openai",
  "@ai-sdk/anthropic": "anthropic",
  "@ai-sdk/amazon-bedrock": "aws.bedrock",
  "@ai-sdk/google": "gcp.gemini",
  "@ai-sdk/google-vertex": "gcp.vertex_ai",
  "@ai-sdk/mistral": "mistral_ai",
  "@ai-sdk/deepseek": "deepseek",
  "@ai-sdk/groq": "groq",
  "@ai-sdk/xai": "x_ai",
  "@ai-sdk/perplexity": "perplexity",
  "@ai-sdk/cohere": "cohere",
};

/** `gen_ai.provider.name` of a backend: one that OpenTelemetry knows, else what kind it is. */
export function providerOf(backend: BackendConfig): string {
  if (backend.type === "ai-sdk") {
    const { package: name } = backend;
    return knownPackages[name] ?? name.replace(/^@ai-sdk\//, "");
  }
  if (backend.type === "node" || backend.type === "rest") return "lintel";
  if (backend.type !== "openai") return backend.type;
  const { hostname } = new URL(backend.url);
  const known = knownHosts.find(([host]) => hostname === host || hostname.endsWith(`.${host}`));
  // Any server may speak this API: then that is all that is known of it.
  return known?.[1] ?? "openai_compatible";
}
