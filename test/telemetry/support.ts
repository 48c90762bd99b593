/** Telemetry as an operator switches it on, for tests. */
import { silent } from "../../src/core/log.js";
import { type OpenTelemetry, openTelemetry } from "../../src/telemetry/open.js";
import type { OtlpSettings, TelemetrySettings } from "../../src/telemetry/settings.js";

/** Everything is off but for what is said. */
export async function telemetryOf(
  settings: Partial<TelemetrySettings>,
  log = silent,
): Promise<OpenTelemetry> {
  const off = { prometheus: false, status: false, providers: new Map(), version: "1.2.3" };
  const open = await openTelemetry({ ...off, ...settings }, log);
  if (!open) throw new Error("all of it is off");
  return open;
}

/** Traces and metrics to a collector, which reads JSON. */
export const otlpTo = (endpoint: string, more: Partial<OtlpSettings> = {}): OtlpSettings => ({
  endpoint,
  protocols: { traces: "http/json", metrics: "http/json" },
  intervalMs: 60_000,
  traces: true,
  metrics: true,
  ...more,
});

/** Samples of Prometheus' text, by name and labels; fails on a line that is none. */
export function samples(text: string): Map<string, number> {
  const found = new Map<string, number>();
  const typed = new Set<string>();
  for (const line of text.trimEnd().split("\n")) {
    const comment = /^# (?:HELP|TYPE) ([a-zA-Z_:][a-zA-Z0-9_:]*) (.+)$/.exec(line);
    if (comment?.[1]) {
      typed.add(comment[1]);
      continue;
    }
    const label = `[a-zA-Z_][a-zA-Z0-9_]*="(?:[^"\\\\\\n]|\\\\["\\\\n])*"`;
    const sample = new RegExp(`^([a-zA-Z_:][a-zA-Z0-9_:]*)(\\{${label}(?:,${label})*\\})? (\\S+)$`);
    const [, name = "", labels = "", value] = sample.exec(line) ?? [];
    const family = name.replace(/_(bucket|sum|count)$/, "");
    if (name === "" || !(typed.has(name) || typed.has(family)))
      throw new Error(`no sample: ${line}`);
    if (Number.isNaN(Number(value))) throw new Error(`no number: ${line}`);
    if (found.has(name + labels)) throw new Error(`twice: ${line}`);
    found.set(name + labels, Number(value));
  }
  return found;
}
