/** Metrics over OTLP: the SDK's reader and exporter, fed with our own series. */
import type { CollectionResult, MetricData, MetricProducer } from "@opentelemetry/sdk-metrics";
import type { Metric } from "./instruments.js";
import type { Library } from "./library.js";

type HrTime = [seconds: number, nanoseconds: number];

/**
 * Tells the SDK our metrics. All of them count from the start of the process.
 * @param read the metrics as they are now
 */
export function metricProducer(
  { api, metrics, resources }: Library,
  version: string,
  read: () => readonly Metric[],
): MetricProducer {
  const startTime = hrTime(Date.now());
  const resource = resources.emptyResource();
  const { CUMULATIVE } = metrics.AggregationTemporality;
  const dataOf = (metric: Metric, endTime: HrTime): MetricData => {
    const { name, description, unit } = metric;
    const base = {
      descriptor: { name, description, unit, valueType: api.ValueType.DOUBLE },
      aggregationTemporality: CUMULATIVE,
    };
    const time = { startTime, endTime };
    if (metric.type === "histogram") {
      const boundaries = [...metric.boundaries];
      return {
        ...base,
        dataPointType: metrics.DataPointType.HISTOGRAM,
        dataPoints: metric.points.map(({ attributes, counts, count, sum, min, max }) => ({
          ...time,
          attributes,
          value: { buckets: { boundaries, counts: [...counts] }, count, sum, min, max },
        })),
      };
    }
    const dataPoints = metric.points.map(({ attributes, value }) => ({
      ...time,
      attributes,
      value,
    }));
    return metric.type === "counter"
      ? { ...base, dataPointType: metrics.DataPointType.SUM, isMonotonic: true, dataPoints }
      : { ...base, dataPointType: metrics.DataPointType.GAUGE, dataPoints };
  };
  return {
    async collect(): Promise<CollectionResult> {
      const now = hrTime(Date.now());
      const all = read().filter(({ points }) => points.length > 0);
      const scopeMetrics = [
        { scope: { name: "lintel", version }, metrics: all.map((metric) => dataOf(metric, now)) },
      ];
      return { resourceMetrics: { resource, scopeMetrics }, errors: [] };
    },
  };
}

const hrTime = (ms: number): HrTime => [Math.floor(ms / 1000), (ms % 1000) * 1e6];
