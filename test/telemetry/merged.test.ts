/** Metrics of several workers, as Prometheus reads them. */
import { expect, test } from "vitest";
import { mergedText } from "../../src/telemetry/merged.js";

const lines = (...all: string[]) => `${all.join("\n")}\n`;
const requests = ["# HELP requests_total Calls.", "# TYPE requests_total counter"];
const budgets = ["# HELP budget_ratio Used.", "# TYPE budget_ratio gauge"];

test("each metric is described once, with the series of all workers, also where one alone has it", () => {
  const texts = new Map([
    [1, lines(...requests, 'requests_total{code="ok"} 1', 'requests_total{code="{x}"} 2')],
    [2, lines(...budgets, "budget_ratio 0.5", ...requests, 'requests_total{code="ok"} 3')],
    // It did not answer in time.
    [3, ""],
  ]);
  expect(mergedText(texts, "prometheus")).toBe(
    lines(
      ...requests,
      'requests_total{worker="1",code="ok"} 1',
      'requests_total{worker="1",code="{x}"} 2',
      'requests_total{worker="2",code="ok"} 3',
      ...budgets,
      'budget_ratio{worker="2"} 0.5',
    ),
  );
});

test("OpenMetrics of several ends once, and keeps traces at values", () => {
  const described = ["# HELP t_seconds Times.", "# TYPE t_seconds histogram"];
  const bucket = (labels: string) =>
    `t_seconds_bucket{${labels}le="+Inf"} 1 # {trace_id="a"} 0.5 7`;
  const text = lines(...described, bucket(""), "# EOF");
  const texts = new Map([
    [1, text],
    [2, text],
  ]);
  expect(mergedText(texts, "openmetrics")).toBe(
    lines(...described, bucket('worker="1",'), bucket('worker="2",'), "# EOF"),
  );
  expect(mergedText(new Map(), "openmetrics")).toMatch(/^\n?# EOF\n$/);
});
