/** Metrics as Prometheus reads them: its text format, version 0.0.4, and OpenMetrics, version 1.0.0, which has exemplars. */
import type { MetricsForm } from "../core/telemetry.js";
import type { Attributes, Exemplar, Metric } from "./instruments.js";

/** Units that stand in a metric's name, by the conventions of both sides. */
const unitNames: Readonly<Record<string, string>> = { s: "seconds", By: "bytes", "1": "ratio" };

/**
 * Writes metrics down.
 * @param target what the process is, for `target_info`
 */
export function metricsText(
  metrics: readonly Metric[],
  target: Attributes,
  form: MetricsForm,
): string {
  const open = form === "openmetrics";
  const [name, type] = open ? ["target", "info"] : ["target_info", "gauge"];
  const info = `# HELP ${name} Target metadata\n# TYPE ${name} ${type}\ntarget_info${labels(target)} 1\n`;
  const written = metrics
    .filter(({ points }) => points.length > 0)
    .map((metric) => write(metric, open))
    .join("");
  return info + written + (open ? openEnd : "");
}

/** How a text in OpenMetrics ends, so that half of one is known as that. */
export const openEnd = "# EOF\n";

function write(metric: Metric, open: boolean): string {
  const family = familyOf(metric);
  const name = metric.type === "counter" ? `${family}_total` : family;
  const described = open ? family : name;
  const help = open ? escapeValue(metric.description) : escapeHelp(metric.description);
  const lines = [`# HELP ${described} ${help}`, `# TYPE ${described} ${metric.type}`];
  if (metric.type === "histogram") {
    const bound = open ? canonical : String;
    for (const { attributes, counts, count, sum, exemplars } of metric.points) {
      let below = 0;
      const bucket = (le: string, i: number) => {
        below += counts[i] ?? 0;
        const exemplar = open && exemplars?.[i];
        const line = `${name}_bucket${labels(attributes, le)} ${below}`;
        lines.push(exemplar ? line + written(exemplar) : line);
      };
      metric.boundaries.forEach((boundary, i) => {
        bucket(bound(boundary), i);
      });
      bucket("+Inf", metric.boundaries.length);
      lines.push(
        `${name}_sum${labels(attributes)} ${sum}`,
        `${name}_count${labels(attributes)} ${count}`,
      );
    }
  } else {
    for (const { attributes, value } of metric.points) {
      lines.push(`${name}${labels(attributes)} ${value}`);
    }
  }
  return `${lines.join("\n")}\n`;
}

const written = ({ traceId, value, at }: Exemplar) =>
  ` # {trace_id="${traceId}"} ${value} ${at / 1000}`;

/** A boundary as OpenMetrics wants it, and Prometheus 3 makes of any: by it series are told from others. */
function canonical(boundary: number): string {
  if (boundary >= 1e6) return boundary.toExponential().replace(/\+(\d)$/, "+0$1");
  return Number.isInteger(boundary) ? `${boundary}.0` : String(boundary);
}

/** The name with its unit, without the `_total` of what only grows. */
function familyOf({ name, unit }: Metric): string {
  const plain = name.replace(/[^a-zA-Z0-9_]/g, "_");
  const suffix = unitNames[unit];
  return suffix && !plain.endsWith(`_${suffix}`) ? `${plain}_${suffix}` : plain;
}

function labels(attributes: Attributes, le?: string): string {
  const pairs = Object.entries(attributes).map(
    ([name, value]) => `${name.replace(/[^a-zA-Z0-9_]/g, "_")}="${escapeValue(String(value))}"`,
  );
  if (le !== undefined) pairs.push(`le="${le}"`);
  return pairs.length === 0 ? "" : `{${pairs.join(",")}}`;
}

const escapeHelp = (text: string) => text.replace(/\\/g, "\\\\").replace(/\n/g, "\\n");
const escapeValue = (text: string) => escapeHelp(text).replace(/"/g, '\\"');
