/** docs/prometheus-rules.yaml: what its rules speak of is there, and each alert fires when it should. */
import { execFile } from "node:child_process";
import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { promisify } from "node:util";
import { describe, expect, it } from "vitest";
import { parse } from "yaml";
import { errorTable } from "../../src/core/error-table.js";
import { page, root } from "./observability-page.js";
import { noPrometheus, program, why } from "./prometheus-programs.js";
import { documentedNames, mistakesIn, spokenOf, withRecords } from "./promql.js";

interface Alert {
  readonly alert: string;
  readonly expr: string;
  readonly for: string;
  readonly labels: Record<string, string>;
  readonly annotations: Record<string, string>;
}
type Rule = Alert | { readonly record: string; readonly expr: string };

const path = join(root, "docs/prometheus-rules.yaml");
const { groups } = parse(readFileSync(path, "utf8")) as { groups: { rules: Rule[] }[] };
const rules = groups.flatMap((group) => group.rules);
const alerts = rules.filter((rule) => "alert" in rule);
const records = rules.filter((rule) => "record" in rule);
const names = withRecords(documentedNames(), records);

const folder = join(import.meta.dirname, "prometheus-rules");
const files = readdirSync(folder);
/** Whether an alert fires, at a time, and with which labels. */
interface Check {
  readonly alert: string;
  /** Labels of each that fires. */
  readonly firing: readonly string[];
}
const checks = files.flatMap((file) => {
  const { tests } = parse(readFileSync(join(folder, file), "utf8"));
  const asked = tests.flatMap(
    (test: { promql_expr_test?: object[] }) => test.promql_expr_test ?? [],
  );
  return asked.flatMap(
    ({ expr, exp_samples }: { expr: string; exp_samples: { labels: string }[] }) => {
      const [, alert] = /^ALERTS\{alertname="(\w+)", alertstate="firing"\}$/.exec(expr) ?? [];
      return alert ? [{ alert, firing: exp_samples.map(({ labels }) => labels) }] : [];
    },
  );
}) as Check[];

describe("docs/prometheus-rules.yaml", () => {
  it.each(rules.map((rule) => ["alert" in rule ? rule.alert : rule.record, rule.expr]))(
    "%s speaks of what is there",
    (_, expr) => expect(mistakesIn(expr, names)).toEqual([]),
  );

  it.each(alerts)("$alert says how bad it is, what it means, and what to do", (alert) => {
    expect(alert).toEqual({
      alert: expect.stringMatching(/^Lintel[A-Z]\w+$/),
      expr: expect.any(String),
      for: expect.stringMatching(/^[1-9]\d*[mh]$/),
      labels: { severity: expect.stringMatching(/^(page|ticket)$/) },
      annotations: { summary: expect.any(String), description: expect.any(String) },
    });
    const { summary = "", description = "" } = alert.annotations;
    expect(summary.length).toBeLessThan(160);
    const [, file = "", parts = ""] = /See (docs\/[\w-]+\.md), (.+)\.$/.exec(description) ?? [];
    const text = readFileSync(join(root, file), "utf8");
    const headings = [...parts.matchAll(/"([^"]+)"/g)].map(([, heading]) => heading);
    expect(headings).not.toEqual([]);
    expect(text.match(/(?<=^#+ ).*$/gm)).toEqual(expect.arrayContaining(headings));
  });

  it("has names that are there once, records by Prometheus' conventions", () => {
    const all = rules.map((rule) => ("alert" in rule ? rule.alert : rule.record));
    expect(new Set(all).size).toBe(all.length);
    for (const { record } of records)
      expect(record).toMatch(/^lintel:[a-z_]+:([a-z0-9]+_)?rate\w+$/);
  });

  it("takes for failures what is no fault of callers, as the page does", () => {
    const ours = Object.entries(errorTable)
      .filter(([code, { http }]) => http >= 500 && code !== "shutting_down")
      .map(([code]) => code);
    const lists = [page, readFileSync(path, "utf8")].flatMap((text) =>
      [...text.matchAll(/lintel_outcome=~"([^"]*)"/g)].map(([, list = ""]) => list),
    );
    expect(lists.length).toBeGreaterThan(1);
    for (const list of lists) {
      const fitting = Object.keys(errorTable).filter((code) =>
        new RegExp(`^(?:${list})$`).test(code),
      );
      expect(fitting.sort()).toEqual(ours.sort());
    }
  });
});

it("PromQL on the page speaks of what is there", () => {
  const [, block = ""] = /```promql\n(.*?)```/s.exec(page) ?? [];
  // An expression goes on in lines that are indented.
  const expressions = block.split(/\n(?! )/).filter((line) => line !== "" && !line.startsWith("#"));
  expect(expressions.length).toBeGreaterThan(1);
  expect(expressions.flatMap((expr) => mistakesIn(expr, names))).toEqual([]);
});

describe("cases of alerts", () => {
  it.each(alerts)("$alert fires in one, and in one it does not", ({ alert }) => {
    const own = checks.filter((check) => check.alert === alert);
    expect(own.filter(({ firing }) => firing.length > 0)).not.toEqual([]);
    expect(own.filter(({ firing }) => firing.length === 0)).not.toEqual([]);
  });

  it.each(alerts)("$alert tells only of labels that it has", ({ alert, annotations }) => {
    const own = checks.filter((check) => check.alert === alert).flatMap(({ firing }) => firing);
    const has = own.flatMap((sample) => spokenOf(sample).selectors[0]?.matchers ?? []);
    const told = Object.values(annotations).flatMap((text) =>
      [...text.matchAll(/\$labels\.(\w+)/g)].map(([, label = ""]) => label),
    );
    expect(has.map(({ label }) => label)).toEqual(expect.arrayContaining(told));
  });

  it("are of alerts that are there", () => {
    const known = alerts.map(({ alert }) => alert);
    expect(checks.map(({ alert }) => alert).filter((alert) => !known.includes(alert))).toEqual([]);
  });
});

describe.skipIf(noPrometheus)(`with promtool${why}`, () => {
  const promtool = async (...args: string[]) => {
    const ran = await promisify(execFile)(program("promtool"), args, { cwd: folder }).catch(
      (e) => e,
    );
    return { failed: ran.code !== undefined, said: `${ran.stdout}${ran.stderr}` };
  };
  it("the rules can be loaded", async () => {
    expect(await promtool("check", "rules", "--lint=all", "--lint-fatal", path)).toEqual({
      failed: false,
      said: expect.stringContaining(`SUCCESS: ${rules.length} rules found`),
    });
  });
  it.each(files)("%s", async (file) => {
    expect(await promtool("test", "rules", file)).toEqual({
      failed: false,
      said: expect.stringContaining("SUCCESS"),
    });
  });
});

describe("names in PromQL", () => {
  it.each([
    ["sum by (gen_ai_request_model) (rate(lintel_requests_total[5m]))", []],
    ["lintel_request_total", ["no metric lintel_request_total"]],
    ["gen_ai_client_token_usage", ["no metric gen_ai_client_token_usage"]],
    [
      'lintel_requests_total{lintel_outcom="ok"}',
      ["no label lintel_outcom of lintel_requests_total"],
    ],
    [
      'lintel_requests_total{lintel_outcome=~"timeout|time_out"}',
      ["no lintel_outcome is time_out"],
    ],
    ['lintel_store_available{lintel_store="redis"}', ["no lintel_store is redis"]],
    ["sum by (le, model) (lintel_target_active)", ["no label le", "no label model"]],
    ["vector(1) > 0", undefined],
    ["lintel_target_active{lintel_backend}", undefined],
    ["1 > 0", ["no series"]],
  ])("%s", (expr, expected) => {
    if (!expected) return expect(() => mistakesIn(expr, names)).toThrow();
    expect(mistakesIn(expr, names)).toEqual(expected.map((mistake) => `${mistake}: ${expr}`));
  });
});
