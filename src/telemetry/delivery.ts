/** Says in the log when a collector takes nothing any more, not all, or too slowly, and when it does again. */
import { parseJson } from "../core/json.js";
import { type Logger, reasonOf } from "../core/log.js";
import { mayWantTls, tlsFailureOf, tlsIsSpoken, wantsTls, wasClosed } from "../core/tls-errors.js";
import type { Library } from "./library.js";

interface Exporter<T> {
  export(items: T, done: (result: { code: number; error?: Error }) => void): void;
}

/** How often is said that a collector refuses a part, or that spans are lost, milliseconds: both may be so for good. */
const saidAgainMs = 600_000;

/** What a collector refused of an export: its count and its words. */
interface Refused {
  readonly rejected: number;
  readonly said: string;
}

/** Of the export whose result comes next. OpenTelemetry tells it to this process's one logger, and counts it a success. */
let refused: Refused | undefined;

/**
 * Hears what OpenTelemetry has to say: what collectors refuse, spans that it had no room for, and, until it is told that
 * all is open, which of its variables it passes over. Other later words are of exports, whose results tell the same.
 * @returns tells that all is open
 */
export function hearLibrary({ diag, DiagLogLevel }: Library["api"], log: Logger): () => void {
  const nothing = () => {};
  // Exporters of traces and metrics read the same ones.
  const told = new Set<string>();
  let open = false;
  const say = (said: string) => {
    if (open || told.has(said)) return;
    told.add(said);
    log.warn({ said }, "a variable of OpenTelemetry can't be used as it is");
  };
  let lost = 0;
  let lostSaidAt = Number.NEGATIVE_INFINITY;
  const lose = (spans: number) => {
    lost += spans;
    if (performance.now() - lostSaidAt <= saidAgainMs) return;
    lostSaidAt = performance.now();
    log.warn({ lost }, "spans are lost: more end than the collector takes");
    lost = 0;
  };
  const warn = (message: string, ...more: unknown[]) => {
    const [, dropped] = /^Dropped (\d+) spans/.exec(message) ?? [];
    if (message.startsWith("Received Partial Success"))
      refused = refusedIn(parseJson(String(more[0])));
    else if (dropped !== undefined) lose(Number(dropped));
    else say(message);
  };
  const logger = { error: say, warn, info: nothing, debug: nothing, verbose: nothing };
  diag.setLogger(logger, { logLevel: DiagLogLevel.WARN, suppressOverrideMessage: true });
  return () => {
    open = true;
  };
}

/** Some collectors say with zeros and no words that all is well. */
function refusedIn(part: unknown): Refused | undefined {
  const { rejectedSpans, rejectedDataPoints, errorMessage } = part as Record<string, unknown>;
  const rejected = Number(rejectedSpans ?? rejectedDataPoints ?? 0);
  const said = typeof errorMessage === "string" ? errorMessage : "";
  return rejected > 0 || said !== "" ? { rejected, said } : undefined;
}

/**
 * Why an export failed. The words of an error may tell an address with its password, its code does
 * not, nor those of what is wrong with TLS; those without a code are the exporter's own: of time that
 * is over, of a status that may pass.
 * @param clear whether a collector that never took anything is asked with no TLS
 */
function whyOf(
  error: Error | undefined,
  clear: boolean,
): { readonly code?: unknown; readonly reason?: string } {
  const { code, data } = (error ?? {}) as { readonly code?: string | number; data?: unknown };
  if (code === undefined) return { reason: error?.message ?? "unknown" };
  if (tlsFailureOf(error)) return { code, reason: reasonOf(error) };
  if (typeof data === "string" && wantsTls(data)) return { code, reason: tlsIsSpoken };
  return clear && wasClosed(error) ? { code, reason: mayWantTls } : { code };
}

/**
 * Watches an exporter. A collector that is away fails every few seconds: each reason
 * is said once, until it is back.
 * @param what `traces` or `metrics`
 * @param clear whether the collector is asked with no TLS
 */
export function watched<T, E extends Exporter<T>>(
  exporter: E,
  what: string,
  log: Logger,
  clear = false,
): E {
  let mayBeWrong = clear;
  const said = new Set<unknown>();
  let refusedAt = Number.NEGATIVE_INFINITY;
  const send = exporter.export.bind(exporter);
  exporter.export = (items: T, done: Parameters<E["export"]>[1]) =>
    send(items, (result) => {
      const part = refused;
      refused = undefined;
      if (result.code === 0) {
        if (said.size > 0) log.info({ what }, "telemetry is delivered again");
        said.clear();
        mayBeWrong = false;
      } else {
        const why = whyOf(result.error, mayBeWrong);
        const { code, reason } = why;
        if (!said.has(code ?? reason)) log.warn({ what, ...why }, "telemetry can't be delivered");
        said.add(code ?? reason);
      }
      if (part && performance.now() - refusedAt > saidAgainMs) {
        refusedAt = performance.now();
        log.warn({ what, ...part }, "the collector refuses a part of the telemetry");
      }
      done(result);
    });
  return exporter;
}
