/** Telemetry, as it is configured. */
import type { Logger } from "../core/log.js";
import type { Telemetry } from "../core/telemetry.js";
import { CallMetrics } from "./call-metrics.js";
import { gauges, type Sources } from "./gauges.js";
import type { Instrument } from "./instruments.js";
import { prometheusText } from "./prometheus.js";
import type { TelemetrySettings } from "./settings.js";

/** Telemetry that is on. */
export interface OpenTelemetry {
  /** For the core. */
  readonly telemetry: Telemetry;
  /** All metrics as Prometheus reads them. */
  prometheus(): string;
  /** Says where numbers come from that are only looked up when somebody asks. */
  observe(sources: Sources): void;
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
  const { prometheus, otlp, providers, version } = settings;
  if (!prometheus && !otlp) return undefined;
  const metrics = new CallMetrics(providers);
  let looked: readonly Instrument[] = [];
  const read = () => [...metrics.instruments, ...looked].map((instrument) => instrument.read());
  const sent =
    otlp && (await (await import("./otlp.js")).openOtlp(otlp, settings, metrics, read, log));
  return {
    telemetry: sent?.telemetry ?? metrics,
    prometheus: () => prometheusText(read(), { service_name: "lintel", service_version: version }),
    observe(sources) {
      looked = gauges(sources);
    },
    close: async () => sent?.close(),
  };
}
