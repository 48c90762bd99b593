/** Reads PromQL as far as names go, and holds them against those that a gateway has. */
import { errorTable } from "../../src/core/error-table.js";
import { page, rows } from "./observability-page.js";

interface Matcher {
  readonly label: string;
  readonly op: string;
  readonly value: string;
}

/** What an expression speaks of. */
export interface Spoken {
  /** Series; the metric is empty where only labels say which. */
  readonly selectors: readonly { readonly metric: string; readonly matchers: readonly Matcher[] }[];
  /** Labels by which it groups or joins. */
  readonly labels: readonly string[];
}

const listed = (text: string): ReadonlySet<string> => new Set(text.split(" "));
const words = listed("and or unless bool offset");
const grouping = listed("by without on ignoring group_left group_right");
const aggregations = listed("sum avg min max count");
const functions = listed(
  "rate increase resets histogram_quantile label_join absent time avg_over_time min_over_time max_over_time",
);

/**
 * Names in an expression.
 * @throws Error at a function that is not known here, and at a form that is none
 */
export function spokenOf(expr: string): Spoken {
  const token = /#.*|"[^"]*"|'[^']*'|\[[^\]]*\]|[a-zA-Z_:][\w:]*|\d[\w.]*|[=!<>]=|[=!]~|\S/g;
  const tokens = expr.match(token) ?? [];
  const spoken = { selectors: [] as Spoken["selectors"][number][], labels: [] as string[] };
  let i = 0;
  const wrong = (what: string) => new Error(`${what} in ${expr}`);
  const take = () => {
    const taken = tokens[i++];
    if (taken === undefined) throw wrong("something is missing");
    return taken;
  };
  const matchers = (): Matcher[] => {
    const found: Matcher[] = [];
    for (let label = take(); label !== "}"; label = take()) {
      if (label === ",") continue;
      const [op, value] = [take(), take()];
      if (!/^[=!][=~]?$/.test(op) || !/^["']/.test(value)) throw wrong(`no matcher: ${label}${op}`);
      found.push({ label, op, value: value.slice(1, -1) });
    }
    return found;
  };
  const list = () => {
    if (take() !== "(") throw wrong("no list of labels");
    for (let label = take(); label !== ")"; label = take()) {
      if (label !== ",") spoken.labels.push(label);
    }
  };
  while (i < tokens.length) {
    const name = take();
    const after = tokens[i] ?? "";
    if (name === "{") spoken.selectors.push({ metric: "", matchers: matchers() });
    else if (!/^[a-zA-Z_:]/.test(name) || words.has(name)) continue;
    else if (grouping.has(name)) list();
    else if (aggregations.has(name) && ["(", "by", "without"].includes(after)) continue;
    else if (after === "(") {
      if (!functions.has(name)) throw wrong(`no function: ${name}`);
    } else {
      if (after === "{") i++;
      spoken.selectors.push({ metric: name, matchers: after === "{" ? matchers() : [] });
    }
  }
  return spoken;
}

/** Labels of a series, and the values of one that has only a few, as far as the page names them. */
interface Known {
  readonly labels: readonly string[];
  readonly values: readonly string[];
}

/** What a scrape adds to each series, several workers, and an instrument with too many. */
const added = ["job", "instance", "worker", "otel_metric_overflow"];

/** All series that can be asked for, by name. */
export type Names = ReadonlyMap<string, Known>;

/** Those of the table of metrics, and Prometheus' own. */
export function documentedNames(): Names {
  const known = new Map<string, Known>([["up", { labels: ["job", "instance"], values: [] }]]);
  for (const [[name = ""] = [], , own = [], values = []] of rows("## Metrics")) {
    const labels = [...added, ...own];
    if (page.includes(`\n| \`${name}\` | histogram |`)) {
      known.set(`${name}_bucket`, { labels: [...labels, "le"], values });
      known.set(`${name}_sum`, { labels, values });
      known.set(`${name}_count`, { labels, values });
    } else known.set(name, { labels, values });
  }
  return known;
}

/** With what rules record, each with the labels by which it is grouped. */
export function withRecords(
  names: Names,
  rules: readonly { record: string; expr: string }[],
): Names {
  const recorded = rules.map(({ record, expr }): [string, Known] => {
    const { selectors, labels } = spokenOf(expr);
    return [
      record,
      { labels, values: selectors.flatMap((it) => names.get(it.metric)?.values ?? []) },
    ];
  });
  return new Map([...names, ...recorded]);
}

/** Labels whose values nobody but the operator knows. */
const free = listed(
  "job instance worker gen_ai_request_model lintel_mirrored_model lintel_backend gen_ai_provider_name otel_metric_overflow",
);
const outcomes = ["ok", "slower", ...Object.keys(errorTable)];

/** What is wrong with an expression: names that nothing has, labels that its series lack, values that no label has. */
export function mistakesIn(expr: string, names: Names): string[] {
  const { selectors, labels } = spokenOf(expr);
  const anyLabel = new Set<string>();
  const mistakes = selectors.flatMap(({ metric, matchers }) => {
    const known = metric === "" ? { labels: added, values: [] } : names.get(metric);
    if (!known) return [`no metric ${metric}`];
    for (const label of known.labels) anyLabel.add(label);
    return matchers.flatMap(({ label, op, value }) => {
      if (!known.labels.includes(label)) return [`no label ${label} of ${metric}`];
      if (free.has(label)) return [];
      const values = /^(lintel_outcome|error_type)$/.test(label) ? outcomes : known.values;
      const asked = op.endsWith("~") ? value.split("|") : [value];
      return asked
        .filter((one) => one !== "" && !values.some((it) => new RegExp(`^(?:${one})$`).test(it)))
        .map((one) => `no ${label} is ${one}`);
    });
  });
  if (selectors.length === 0) mistakes.push("no series");
  for (const label of labels) if (!anyLabel.has(label)) mistakes.push(`no label ${label}`);
  return mistakes.map((mistake) => `${mistake}: ${expr}`);
}
