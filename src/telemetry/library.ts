/** OpenTelemetry's packages: loaded where OTLP is configured, and nowhere else. */
import type { OtlpProtocols } from "./settings.js";

/** What is used of them. */
export interface Library {
  readonly api: typeof import("@opentelemetry/api");
  readonly resources: typeof import("@opentelemetry/resources");
  readonly metrics: typeof import("@opentelemetry/sdk-metrics");
  readonly traces: typeof import("@opentelemetry/sdk-trace-base");
  readonly metricExporter: typeof import("@opentelemetry/exporter-metrics-otlp-http");
  readonly traceExporter: typeof import("@opentelemetry/exporter-trace-otlp-http");
}

const packages = {
  api: "@opentelemetry/api",
  resources: "@opentelemetry/resources",
  metrics: "@opentelemetry/sdk-metrics",
  traces: "@opentelemetry/sdk-trace-base",
} as const;

/** The exporters' packages, which have the same names in them. */
const exporters = {
  "http/protobuf": {
    metricExporter: "@opentelemetry/exporter-metrics-otlp-proto",
    traceExporter: "@opentelemetry/exporter-trace-otlp-proto",
  },
  "http/json": {
    metricExporter: "@opentelemetry/exporter-metrics-otlp-http",
    traceExporter: "@opentelemetry/exporter-trace-otlp-http",
  },
} as const;

/**
 * Loads them.
 * @param protocols that exporters speak
 * @param load how a package is imported
 * @throws Error that says what to install if one is missing
 */
export async function loadLibrary(
  protocols: OtlpProtocols,
  load: (name: string) => Promise<unknown> = (name) => import(name),
): Promise<Library> {
  const { metricExporter } = exporters[protocols.metrics];
  const { traceExporter } = exporters[protocols.traces];
  const wanted = { ...packages, metricExporter, traceExporter };
  const entries = Object.entries(wanted).map(async ([key, name]) => [key, await load(name)]);
  try {
    return Object.fromEntries(await Promise.all(entries)) as Library;
  } catch (cause) {
    if ((cause as NodeJS.ErrnoException).code !== "ERR_MODULE_NOT_FOUND") throw cause;
    const all = Object.values(wanted).join(" ");
    throw Object.assign(
      new Error(`telemetry.otlp needs packages that are not installed: npm install ${all}`, {
        cause,
      }),
      { code: "ERR_MODULE_NOT_FOUND" },
    );
  }
}
