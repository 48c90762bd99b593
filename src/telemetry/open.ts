/** Telemetry, as it is configured. */
import type { Logger } from "../core/log.js";
import type { MetricsForm, Telemetry } from "../core/telemetry.js";
import { CallMetrics } from "./call-metrics.js";
import { gauges, type Sources } from "./gauges.js";
import { MirrorTallies } from "./mirror-tally.js";
import { metricsText } from "./prometheus.js";
import type { TelemetrySettings } from "./settings.js";
import { type Status, statusOf } from "./status.js";
import { Tally } from "./tally.js";
import { Watchers } from "./watchers.js";

/** Telemetry that is on. */
export interface OpenTelemetry {
  /** For the core. */
  readonly telemetry: Telemetry;
  /** Says where numbers come from that are only looked up when somebody asks. */
  observe(sources: Sources): void;
  /** All metrics as Prometheus reads them; absent: off. */
  readonly prometheus?: (form?: MetricsForm) => string;
  /** How the gateway stands; absent: off. */
  readonly status?: () => Status;
  /** Sends what is left. Always resolves. */
  close(): Promise<void>;
}

/**
 * Opens telemetry.
 * @returns `undefined` if all of it is off
 * @throws Error that says what to install if OTLP is on and OpenTelemetry is missing
 */
export async function openTelemetry(
  settings: TelemetrySettings,
  log: Logger,
): Promise<OpenTelemetry | undefined> {
  const { prometheus, otlp, status, providers, service = "lintel", version } = settings;
  if (!prometheus && !otlp && !status) return undefined;
  const metrics =
    prometheus || otlp
      ? new CallMetrics(providers, prometheus && otlp?.traces === true)
      : undefined;
  const tallies = status ? { calls: new Tally(), mirrors: new MirrorTallies() } : undefined;
  const watching = [metrics, tallies?.calls, tallies?.mirrors];
  const watchers = new Watchers(watching.filter((it) => it !== undefined));
  let sources: Sources | undefined;
  const read = () => [
    ...(metrics?.instruments.map((instrument) => instrument.read()) ?? []),
    ...(sources ? gauges(sources) : []),
  ];
  const sent =
    otlp && (await (await import("./otlp.js")).openOtlp(otlp, settings, watchers, read, log));
  // An empty variable is none, by OpenTelemetry's specification.
  const name = process.env.OTEL_SERVICE_NAME?.trim() || service;
  const target = { service_name: name, service_version: version };
  return {
    telemetry: sent?.telemetry ?? watchers,
    observe(from) {
      sources = from;
    },
    ...(prometheus && {
      prometheus: (form: MetricsForm = "prometheus") => metricsText(read(), target, form),
    }),
    ...(tallies && { status: () => statusOf(version, tallies, sources ?? nothing) }),
    close: async () => sent?.close(),
  };
}

const nothing: Sources = {
  running: () => 0,
  routing: () => ({ endpoints: [], mirrors: [], retries: { requests: 0, retries: 0, denied: 0 } }),
};
