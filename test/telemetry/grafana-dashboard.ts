/** docs/grafana-dashboard.json, as far as tests look into it. */
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { root } from "./observability-page.js";

export interface Target {
  readonly refId: string;
  readonly expr: string;
  /** Whether traces are shown. */
  readonly exemplar?: boolean;
  readonly legendFormat: string;
  readonly datasource: unknown;
}

export interface Panel {
  readonly id: number;
  readonly type: string;
  readonly title: string;
  readonly gridPos: {
    readonly x: number;
    readonly y: number;
    readonly w: number;
    readonly h: number;
  };
  readonly datasource?: unknown;
  readonly fieldConfig?: { readonly defaults: { readonly unit?: string } };
  readonly targets?: readonly Target[];
  /** Of a row that is folded. */
  readonly panels?: readonly Panel[];
}

export interface Variable {
  readonly name: string;
  readonly type: string;
  /** Of a data source its type. */
  readonly query: string | { readonly query: string };
  /** The same again, which lists of variables show. */
  readonly definition?: string;
  readonly datasource?: unknown;
}

export const text = readFileSync(join(root, "docs/grafana-dashboard.json"), "utf8");
export const dashboard = JSON.parse(text) as {
  readonly title: string;
  readonly uid: string;
  readonly schemaVersion: number;
  readonly id?: number | null;
  readonly templating: { readonly list: readonly Variable[] };
  readonly panels: readonly Panel[];
};

export const panels = dashboard.panels.flatMap((panel) => [panel, ...(panel.panels ?? [])]);
export const charts = panels.filter(({ type }) => type !== "row");

/** An expression as Grafana sends it, with everything chosen. */
export const filled = (expr: string): string =>
  expr.replaceAll("$__rate_interval", "1m").replace(/\$(job|instance|model)\b/g, ".*");
