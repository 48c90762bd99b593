/** Which form of metrics somebody wants. */
import type { MetricsForm } from "../core/telemetry.js";

/** Media types of metrics. */
export const metricsTypes: Readonly<Record<MetricsForm, string>> = {
  prometheus: "text/plain; version=0.0.4; charset=utf-8",
  openmetrics: "application/openmetrics-text; version=1.0.0; charset=utf-8",
};

/**
 * OpenMetrics where it is named, in the version that is written here, and nothing else is wanted more; else
 * Prometheus' own text, also for a browser that takes anything.
 */
export function metricsFormOf(accept: string | undefined): MetricsForm {
  let [open, text] = [0, 0];
  for (const range of accept?.toLowerCase().split(",") ?? []) {
    const [type, ...parameters] = range.split(";").map((part) => part.trim());
    const values = new Map(parameters.map((one) => one.split("=") as [string, string | undefined]));
    const weight = Number(values.get("q") ?? 1);
    const version = values.get("version") ?? "1.0.0";
    if (type === "application/openmetrics-text" && version === "1.0.0")
      open = Math.max(open, weight);
    if (type === "text/plain") text = Math.max(text, weight);
  }
  return open > 0 && open >= text ? "openmetrics" : "prometheus";
}
