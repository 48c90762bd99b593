/** docs/grafana-dashboard.json: Grafana can draw it, and what it asks for is there. */
import { describe, expect, it } from "vitest";
import { charts, dashboard, filled, panels, text } from "./grafana-dashboard.js";
import { page } from "./observability-page.js";
import { documentedNames, mistakesIn, spokenOf } from "./promql.js";

const names = documentedNames();
const source = { type: "prometheus", uid: "$" + "{datasource}" };
const variables = dashboard.templating.list;

/** Names of variables in an expression. */
const used = (expr: string) => [...expr.matchAll(/\$\{?(\w+)\}?/g)].map(([, name]) => name);

describe("docs/grafana-dashboard.json", () => {
  it("is one that can be imported", () => {
    expect(dashboard).toMatchObject({ title: "Lintel", uid: "lintel" });
    expect(dashboard.schemaVersion).toBeGreaterThanOrEqual(38);
    // Grafana gives it a number of its own.
    expect(dashboard).not.toHaveProperty("id");
    expect(text.endsWith("}\n")).toBe(true);
  });

  it("has panels of their own numbers and titles", () => {
    const ids = panels.map(({ id }) => id);
    expect(new Set(ids).size).toBe(ids.length);
    const titles = panels.map(({ title }) => title);
    expect(new Set(titles).size).toBe(titles.length);
    expect(titles).not.toContain("");
    expect(charts.length).toBeGreaterThan(30);
  });

  it("has panels beside and below each other", () => {
    const taken = new Map<string, string>();
    for (const { title, gridPos } of panels) {
      expect(gridPos.w * gridPos.h, title).toBeGreaterThan(0);
      expect(gridPos.x + gridPos.w, title).toBeLessThanOrEqual(24);
      for (let x = gridPos.x; x < gridPos.x + gridPos.w; x++) {
        for (let y = gridPos.y; y < gridPos.y + gridPos.h; y++) {
          expect(taken.get(`${x} ${y}`), title).toBeUndefined();
          taken.set(`${x} ${y}`, title);
        }
      }
    }
  });

  it("has rows that lead to the panels below", () => {
    const [first] = dashboard.panels;
    expect(first?.type).toBe("row");
    const places = dashboard.panels.map(({ gridPos: { x, y } }) => y * 24 + x);
    expect(places).toEqual([...places].sort((a, b) => a - b));
  });

  it("shows traces where calls took long, and not of mirrors, whose values have none", () => {
    const slowest = charts.flatMap(({ title, targets = [] }) =>
      targets
        .filter(({ expr }) => /^histogram_quantile\(0\.95/.test(expr))
        .map((it) => ({ title, it })),
    );
    const traced = slowest.filter(({ it }) => it.exemplar).map(({ title }) => title);
    expect(traced).toEqual(slowest.map(({ title }) => title).filter((it) => !/mirror/.test(it)));
    const all = charts.flatMap(({ targets = [] }) => targets.filter(({ exemplar }) => exemplar));
    expect(all).toHaveLength(traced.length);
    expect(traced).toContain("Duration of calls");
  });

  it.each(charts)("$title asks the chosen data source, in its unit", (panel) => {
    expect(panel.datasource).toEqual(source);
    expect(panel.fieldConfig?.defaults.unit).toMatch(/^\w+$/);
    const { targets = [] } = panel;
    expect(targets).not.toEqual([]);
    expect(new Set(targets.map(({ refId }) => refId)).size).toBe(targets.length);
    for (const target of targets) expect(target.datasource).toEqual(source);
  });

  it.each(charts)("$title speaks of what is there", ({ targets = [] }) => {
    for (const { expr, legendFormat } of targets) {
      expect(mistakesIn(filled(expr), names)).toEqual([]);
      const { labels, selectors } = spokenOf(filled(expr));
      const own = selectors.flatMap(({ metric }) => names.get(metric)?.labels ?? []);
      const told = [...legendFormat.matchAll(/\{\{(\w+)\}\}/g)].map(([, label]) => label);
      // What is not grouped has all labels that its series have.
      expect(labels.length > 0 ? labels : own).toEqual(expect.arrayContaining(told));
    }
  });

  it.each(charts)("$title shows what is chosen", ({ targets = [] }) => {
    const known = variables.map(({ name }) => name);
    for (const { expr } of targets) {
      const chosen = used(expr).filter((name) => name !== "__rate_interval");
      expect(known).toEqual(expect.arrayContaining(chosen));
      for (const { metric, matchers } of spokenOf(expr.replaceAll("$__rate_interval", "1m"))
        .selectors) {
        const by = matchers.map(({ label, op, value }) => `${label}${op}${value}`);
        expect(by, metric).toEqual(expect.arrayContaining(["job=~$job", "instance=~$instance"]));
      }
    }
  });

  it("lets choose what metrics have", () => {
    expect(variables.map(({ name, type }) => [name, type])).toEqual([
      ["datasource", "datasource"],
      ["job", "query"],
      ["instance", "query"],
      ["model", "query"],
    ]);
    const [first, ...others] = variables;
    expect(first?.query).toBe("prometheus");
    for (const { name, query, definition, datasource } of others) {
      expect(datasource).toEqual(source);
      const asked = typeof query === "string" ? query : query.query;
      expect(definition).toBe(asked);
      const [, expr = "", label = ""] = /^label_values\((.*), (\w+)\)$/.exec(asked) ?? [];
      expect(mistakesIn(filled(expr), names)).toEqual([]);
      const { selectors } = spokenOf(filled(expr));
      expect(names.get(selectors[0]?.metric ?? "")?.labels, name).toContain(label);
      const before = variables.slice(
        0,
        variables.findIndex((it) => it.name === name),
      );
      expect(before.map((it) => it.name)).toEqual(expect.arrayContaining(used(expr)));
    }
  });

  it("shows every metric of the page", () => {
    const shown = new Set(
      charts.flatMap(({ targets = [] }) =>
        targets.flatMap(({ expr }) => spokenOf(filled(expr)).selectors.map(({ metric }) => metric)),
      ),
    );
    const base = (name: string) => name.replace(/_(bucket|sum|count)$/, "");
    const of = new Set(
      [...shown].map((name) => (page.includes(`| \`${name}\` |`) ? name : base(name))),
    );
    const all = [...names.keys()].map((name) =>
      page.includes(`| \`${name}\` |`) ? name : base(name),
    );
    expect([...new Set(all)].filter((name) => !of.has(name))).toEqual([]);
  });

  it("counts as failures what the page does", () => {
    const [, list = ""] = /lintel_outcome=~"([^"]*)"/.exec(page) ?? [];
    const lists = charts.flatMap(({ targets = [] }) =>
      targets.flatMap(({ expr }) =>
        [...expr.matchAll(/lintel_outcome[=!]~"([^"]*internal[^"]*)"/g)].map(([, one = ""]) => one),
      ),
    );
    expect(lists.length).toBeGreaterThan(2);
    for (const one of lists) expect(one).toContain(list);
  });
});
