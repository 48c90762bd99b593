/**
 * Who watches calls from outside: metrics and traces. The core says when a call
 * begins, when a backend is asked and when all is over, and costs nothing more
 * where nobody watches.
 */
import type { Call } from "./call.js";
import type { AttemptRecord, Attributes } from "./call-attributes.js";
import type { ErrorCode } from "./error-table.js";
import type { MethodName } from "./methods.js";
import type { Mirrored, NotMirrored } from "./mirrored.js";
import type { Said } from "./transcript.js";

/** How metrics are written down: as Prometheus' own text, or as OpenMetrics, which has traces at them. */
export type MetricsForm = "prometheus" | "openmetrics";

/** Place of a call in a trace that others began, as W3C Trace Context writes it. */
export interface TraceContext {
  readonly traceparent: string;
  readonly tracestate?: string | undefined;
}

/** What is known of a call when it begins. */
export interface CallStart {
  readonly method: MethodName;
  /** Request id. */
  readonly id: string;
  /** The door, for example `"rest"`. */
  readonly door: string;
  /** The caller's own place in a trace; absent: it sent none. */
  readonly trace: TraceContext | undefined;
}

/** How a call ended; durations in milliseconds. */
export interface CallOutcome {
  readonly code: "ok" | ErrorCode;
  /** To the first messages; absent: there were none. */
  readonly firstMs: number | undefined;
  readonly totalMs: number;
  /** When its caller saw that, by `performance.now`: work of it may go on. */
  readonly endedAt: number;
}

/** What a model server says of its answer besides the answer; empty: it does not tell. */
export interface AnswerName {
  /** By which it knows the answer. */
  readonly id: string;
  /** The model that answered, which may be a version of the one that was asked. */
  readonly model: string;
  /** By the contract's word. */
  readonly finishReason: string;
  /** Which tier of service it had, by the server's word. */
  readonly tier: string;
}

/** Watches what model servers say of their answers. */
interface NameObservation {
  /** Whether it wants to know. Default: no. */
  readonly wantsNames?: boolean | undefined;
  /** What one said, also of half an answer. Called once for each attempt, when that is over. */
  named?(record: AttemptRecord, name: AnswerName): void;
}

/** Watches one call. */
export interface Observation extends NameObservation {
  /** Id of the trace that the call is in; absent: the caller's own, if it sent one. */
  readonly traceId?: string | undefined;
  /** Whether that trace has a span of the call, so that somebody may look it up. Default: no. */
  readonly recorded?: boolean | undefined;
  /** Whether it wants to know what was answered. Default: no. */
  readonly wantsContent?: boolean | undefined;
  /** Watches the call's mirrors. Default: nobody does. */
  readonly mirrors?: MirrorObservation | undefined;
  /**
   * A backend is about to be asked.
   * @returns the place in the trace to tell it; absent: the caller's own
   */
  attempt(record: AttemptRecord): TraceContext | undefined;
  /**
   * The call is over; `call.attributes` are complete. Called once.
   * @param said what was answered, where that is wanted
   */
  end(call: Call, outcome: CallOutcome, said?: Said): void;
}

/** Watches the mirrors of one call, which may be asked beyond its end. */
export interface MirrorObservation extends NameObservation {
  /**
   * One is about to be asked.
   * @param of of the call itself
   * @returns the place in the trace to tell it; absent: the caller's own
   */
  asked(record: AttemptRecord, of: Readonly<Attributes>): TraceContext | undefined;
  /** Its answer is over. Called once for each that was asked. */
  answered(mirrored: Mirrored): void;
  /** One was to be asked, and is not. */
  passedOver(what: NotMirrored): void;
}

/** Watches calls. */
export interface Telemetry {
  begin(start: CallStart): Observation;
}

/** Longest list of vendors' own data that is handed on; the standard asks for 512 at least. */
const longestState = 1024;

/**
 * The caller's place in a trace.
 * @param header what a header says, by its name in lower case
 * @returns `undefined` if it sent none, or one that is malformed
 */
export function traceOf(
  header: ((name: string) => string | undefined) | undefined,
): TraceContext | undefined {
  const traceparent = header?.("traceparent");
  if (traceparent === undefined || !isTraceparent(traceparent)) return undefined;
  const state = header?.("tracestate");
  const usable = state && state.length <= longestState && /^[\x20-\x7e\t]+$/.test(state);
  return usable ? { traceparent, tracestate: state } : { traceparent };
}

/** Later versions may have more fields; version ff and ids of zeros are not valid. */
const isTraceparent = (text: string) =>
  text.length <= 256 &&
  /^(?!ff)[0-9a-f]{2}-(?!0{32})[0-9a-f]{32}-(?!0{16})[0-9a-f]{16}-[0-9a-f]{2}(?:-[\x21-\x7e]*)?$/.test(
    text,
  ) &&
  (!text.startsWith("00") || text.length === 55);

/** Headers that tell a model server its place in the trace; `undefined` where there is none. */
export function traceHeaders({ trace }: Pick<Call, "trace">): Record<string, string> | undefined {
  if (!trace) return undefined;
  const { traceparent, tracestate } = trace;
  return tracestate === undefined ? { traceparent } : { traceparent, tracestate };
}
