/** Traces and metrics to a collector, over OTLP/HTTP. */
import { randomUUID } from "node:crypto";
import { atMost } from "../core/abort.js";
import type { Logger } from "../core/log.js";
import type { Telemetry } from "../core/telemetry.js";
import { CallTraces } from "./call-traces.js";
import { hearLibrary, watched } from "./delivery.js";
import type { Metric } from "./instruments.js";
import { type Library, loadLibrary } from "./library.js";
import { metricProducer } from "./otlp-metrics.js";
import type { OtlpSettings, TelemetrySettings } from "./settings.js";

/** What goes out. */
export interface Otlp {
  /** Hears of calls: of those that are recorded, spans go out. */
  readonly telemetry: Telemetry;
  /** Sends what is left. Resolves also if nobody takes it, after a while. */
  close(): Promise<void>;
}

/** How long a closing gateway waits for its collector, milliseconds. */
const closeMs = 3000;

/** Spans with what was said are large: of 512 at once collectors would refuse all, and 2048 would wait in memory. */
const large = { maxExportBatchSize: 32, maxQueueSize: 512 };

/**
 * Begins to send.
 * @param metrics hears of every call too
 * @param read all metrics as they are now
 * @throws Error that says what to install if OpenTelemetry's packages are missing
 */
export async function openOtlp(
  otlp: OtlpSettings,
  settings: TelemetrySettings,
  metrics: Telemetry,
  read: () => readonly Metric[],
  log: Logger,
): Promise<Otlp> {
  const library = await loadLibrary(otlp.protocols);
  const opened = hearLibrary(library.api, log);
  const resource = resourceOf(library, settings);
  const target = (path: string) => ({
    ...(otlp.endpoint !== undefined && { url: `${otlp.endpoint}${path}` }),
    ...(otlp.headers && { headers: { ...otlp.headers } }),
  });
  const clear = otlp.endpoint?.startsWith("http:");
  const closing: [what: string, close: () => Promise<void>][] = [];
  if (otlp.metrics) {
    const { MeterProvider, PeriodicExportingMetricReader } = library.metrics;
    const { OTLPMetricExporter } = library.metricExporter;
    const exporter = new OTLPMetricExporter(target("/v1/metrics"));
    const reader = new PeriodicExportingMetricReader({
      exporter: watched(exporter, "metrics", log, clear),
      exportIntervalMillis: otlp.intervalMs,
      exportTimeoutMillis: Math.min(10_000, otlp.intervalMs),
      metricProducers: [metricProducer(library, settings.version, read)],
    });
    const provider = new MeterProvider({ resource, readers: [reader] });
    closing.push(["metrics", () => provider.shutdown()]);
  }
  let telemetry = metrics;
  if (otlp.traces) {
    const { BasicTracerProvider, BatchSpanProcessor } = library.traces;
    const { OTLPTraceExporter } = library.traceExporter;
    const exporter = new OTLPTraceExporter(target("/v1/traces"));
    const provider = new BasicTracerProvider({
      resource,
      spanProcessors: [
        new BatchSpanProcessor(
          watched(exporter, "traces", log, clear),
          otlp.content ? large : undefined,
        ),
      ],
      ...(otlp.sampleRatio !== undefined && { sampler: samplerOf(library, otlp.sampleRatio) }),
    });
    const tracer = provider.getTracer("lintel", settings.version);
    const { providers } = settings;
    telemetry = new CallTraces(
      { api: library.api, tracer, providers, content: otlp.content === true },
      metrics,
    );
    closing.push(["traces", () => provider.shutdown()]);
  }
  opened();
  return {
    telemetry,
    async close() {
      const left = new Set(closing.map(([what]) => what));
      const closed = closing.map(([what, close]) => close().finally(() => left.delete(what)));
      await atMost(closeMs, Promise.allSettled(closed));
      for (const what of left) {
        const reason = `not within ${closeMs / 1000} seconds, and the process ends`;
        log.warn({ what, reason }, "telemetry can't be delivered");
      }
    },
  };
}

/** Who began a trace decides whether it is recorded; of those that begin here, a share is. */
function samplerOf({ traces }: Library, ratio: number) {
  const { ParentBasedSampler, TraceIdRatioBasedSampler } = traces;
  return new ParentBasedSampler({ root: new TraceIdRatioBasedSampler(ratio) });
}

/** This process; `OTEL_SERVICE_NAME` and `OTEL_RESOURCE_ATTRIBUTES` add to it and replace. */
function resourceOf({ resources }: Library, { service = "lintel", version }: TelemetrySettings) {
  const { detectResources, envDetector, resourceFromAttributes } = resources;
  return resourceFromAttributes({
    "service.name": service,
    "service.version": version,
    "service.instance.id": randomUUID(),
  }).merge(detectResources({ detectors: [envDetector] }));
}
