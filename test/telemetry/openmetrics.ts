/** A strict reader of OpenMetrics' text, version 1.0.0. */

/** The trace that stands at a value. */
export interface TracedValue {
  readonly traceId: string;
  readonly value: number;
  /** Seconds since the epoch. */
  readonly at: number;
}

/** A line with a value. */
export interface OpenSample {
  readonly name: string;
  readonly labels: Readonly<Record<string, string>>;
  readonly value: number;
  readonly exemplar: TracedValue | undefined;
}

const suffixes: Readonly<Record<string, readonly string[]>> = {
  counter: ["_total"],
  gauge: [""],
  info: ["_info"],
  histogram: ["_bucket", "_sum", "_count"],
};

const label = '[a-zA-Z_][a-zA-Z0-9_]*="(?:[^"\\\\\\n]|\\\\["n\\\\])*"';
const number = "-?\\d+(?:\\.\\d+)?(?:e[+-]?\\d+)?";
const line = new RegExp(
  `^([a-zA-Z_:][a-zA-Z0-9_:]*)(?:\\{(${label}(?:,${label})*)\\})? (${number})` +
    `(?: # \\{trace_id="([0-9a-f]{32})"\\} (${number}) (${number}))?$`,
);

/**
 * All values of a text.
 * @throws Error with the line that OpenMetrics does not allow
 */
export function openSamples(text: string): OpenSample[] {
  const lines = text.split("\n");
  if (lines.pop() !== "" || lines.pop() !== "# EOF") throw new Error("it does not end as it must");
  const found: OpenSample[] = [];
  const families = new Set<string>();
  let [family, type] = ["", ""];
  for (const [i, said] of lines.entries()) {
    const bad = (why: string) => new Error(`line ${i + 1}, ${why}: ${said}`);
    const help = /^# HELP (\S+) (?:[^"\\]|\\["n\\])*$/.exec(said)?.[1];
    if (help !== undefined) {
      if (families.has(help)) throw bad("a family twice");
      families.add(help);
      [family, type] = [help, ""];
      continue;
    }
    const typed = /^# TYPE (\S+) (counter|gauge|histogram|info)$/.exec(said);
    if (typed) {
      if (typed[1] !== family || type !== "") throw bad("a type of another family");
      type = typed[2] ?? "";
      if (type !== "gauge" && /_(?:total|info|bucket|sum|count)$/.test(family))
        throw bad("a family with a suffix of a sample");
      continue;
    }
    const [, name = "", pairs = "", value, traceId, at, when] = line.exec(said) ?? [];
    if (value === undefined) throw bad("no sample");
    if (!suffixes[type]?.some((suffix) => name === family + suffix)) throw bad("not of its family");
    const labels = Object.fromEntries(
      [...pairs.matchAll(new RegExp(label, "g"))].map(([pair]) => {
        const end = pair.indexOf("=");
        return [pair.slice(0, end), pair.slice(end + 2, -1)];
      }),
    );
    if (name.endsWith("_bucket") && !/^(?:\+Inf|\d+\.\d+(?:e\+\d\d)?)$/.test(labels.le ?? ""))
      throw bad("a boundary that is not canonical");
    const exemplar = traceId ? { traceId, value: Number(at), at: Number(when) } : undefined;
    if (exemplar && !name.endsWith("_bucket")) throw bad("an exemplar where none may be");
    found.push({ name, labels, value: Number(value), exemplar });
  }
  return found;
}
