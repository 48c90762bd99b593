/** Metrics as Prometheus reads them: the text format, version 0.0.4. */
import type { Attributes, Metric } from "./instruments.js";

/** Units that stand in a metric's name, by the conventions of both sides. */
const unitNames: Readonly<Record<string, string>> = { s: "seconds", By: "bytes", "1": "ratio" };

/**
 * Writes metrics down.
 * @param target what the process is, for `target_info`
 */
export function prometheusText(metrics: readonly Metric[], target: Attributes): string {
  const info = `# HELP target_info Target metadata\n# TYPE target_info gauge\ntarget_info${labels(target)} 1\n`;
  return (
    info +
    metrics
      .filter(({ points }) => points.length > 0)
      .map(write)
      .join("")
  );
}

function write(metric: Metric): string {
  const name = nameOf(metric);
  const lines = [
    `# HELP ${name} ${escapeHelp(metric.description)}`,
    `# TYPE ${name} ${metric.type}`,
  ];
  if (metric.type === "histogram") {
    for (const { attributes, counts, count, sum } of metric.points) {
      let below = 0;
      metric.boundaries.forEach((boundary, i) => {
        below += counts[i] ?? 0;
        lines.push(`${name}_bucket${labels(attributes, String(boundary))} ${below}`);
      });
      lines.push(
        `${name}_bucket${labels(attributes, "+Inf")} ${count}`,
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

/** The name with its unit, and `_total` for what only grows. */
function nameOf({ name, unit, type }: Metric): string {
  const plain = name.replace(/[^a-zA-Z0-9_]/g, "_");
  const suffix = unitNames[unit];
  const whole = suffix && !plain.endsWith(`_${suffix}`) ? `${plain}_${suffix}` : plain;
  return type === "counter" ? `${whole}_total` : whole;
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
