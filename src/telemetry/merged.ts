/** Metrics of several processes in one text, as Prometheus reads it. */

import type { MetricsForm } from "../core/telemetry.js";
import { openEnd } from "./prometheus.js";

const end = openEnd.trimEnd();

/** The lines of one metric. */
interface Family {
  /** `# HELP` and `# TYPE`. */
  readonly about: string[];
  readonly samples: string[];
}

/**
 * Puts texts together: each metric is described once, and its series say of which worker they
 * are. They are not added up: a worker that is started anew begins at 0, which a sum would hide.
 * @param texts by the workers' numbers
 */
export function mergedText(texts: ReadonlyMap<number, string>, form: MetricsForm): string {
  const families = new Map<string, Family>();
  for (const [worker, text] of texts) {
    let family: Family | undefined;
    let known = false;
    for (const line of text.split("\n")) {
      const [, word, name = ""] = /^# (HELP|TYPE) (\S+)/.exec(line) ?? [];
      if (word === "HELP") {
        family = families.get(name);
        known = family !== undefined;
        family ??= { about: [], samples: [] };
        families.set(name, family);
      }
      if (word === undefined) {
        if (line !== "" && line !== end) family?.samples.push(labelled(line, worker));
      } else if (!known) family?.about.push(line);
    }
  }
  const lines = [...families.values()].flatMap(({ about, samples }) => [...about, ...samples]);
  if (form === "openmetrics") lines.push(end);
  return `${lines.join("\n")}\n`;
}

/** A sample with one more label, ahead of its own. */
function labelled(line: string, worker: number): string {
  const label = `worker="${worker}"`;
  const [name = ""] = /^[^{ ]+/.exec(line) ?? [];
  const rest = line.slice(name.length);
  return rest.startsWith("{") ? `${name}{${label},${rest.slice(1)}` : `${name}{${label}}${rest}`;
}
