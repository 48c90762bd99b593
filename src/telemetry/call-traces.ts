/** Traces: a span for each call, and one below it for each question to a backend. */
import type { Context, Span, SpanContext, Tracer } from "@opentelemetry/api";
import type { Call } from "../core/call.js";
import type { AttemptRecord, Attributes } from "../core/call-attributes.js";
import { type ErrorCode, errorTable } from "../core/error-table.js";
import type { Mirrored, NotMirrored } from "../core/mirrored.js";
import type {
  AnswerName,
  CallOutcome,
  CallStart,
  MirrorObservation,
  Observation,
  Telemetry,
  TraceContext,
} from "../core/telemetry.js";
import type { Said } from "../core/transcript.js";
import { contentAttributes } from "./content.js";
import type { Library } from "./library.js";
import { type Operation, operationOf, ownProvider, type Providers } from "./operation.js";
import {
  answerAttributes,
  attemptAttributes,
  callAttributes,
  operationAttributes,
  requestAttributes,
  usageAttributes,
} from "./span-attributes.js";

/** What spans are made with. */
export interface Tracing {
  readonly api: Library["api"];
  readonly tracer: Tracer;
  readonly providers: Providers;
  /** Whether spans have what was asked and answered. */
  readonly content: boolean;
}

/** Traces calls, besides whatever else watches them. */
export class CallTraces implements Telemetry {
  readonly #tracing: Tracing;
  readonly #others: Telemetry;

  /** @param others hear of the same calls */
  constructor(tracing: Tracing, others: Telemetry) {
    this.#tracing = tracing;
    this.#others = others;
  }

  begin(start: CallStart): Observation {
    return new CallTrace(this.#tracing, start, this.#others.begin(start));
  }
}

/** A question to a backend, and its span. */
interface Asked {
  readonly record: Readonly<AttemptRecord>;
  readonly span: Span;
  /** What the model server says of its answer; absent: there was none, or it says nothing. */
  name?: AnswerName;
}

class CallTrace implements Observation, MirrorObservation {
  readonly #tracing: Tracing;
  readonly #others: Observation;
  readonly #start: CallStart;
  readonly #operation: Operation | undefined;
  readonly #span: Span;
  readonly #context: Context;
  readonly mirrors = this;
  /** It is over before the last of its mirrors may be. */
  readonly recorded: boolean;
  #attempts: Asked[] = [];
  /** Those of mirrors; absent: there is none. */
  #mirrored: Asked[] | undefined;

  constructor(tracing: Tracing, start: CallStart, others: Observation) {
    const { api, tracer } = tracing;
    this.#tracing = tracing;
    this.#others = others;
    this.#start = start;
    this.#operation = operationOf(start.method);
    const parent = start.trace
      ? api.trace.setSpanContext(api.ROOT_CONTEXT, remote(api, start.trace))
      : api.ROOT_CONTEXT;
    const name = this.#operation?.name ?? start.method;
    // What a sampler may want to know is there from the beginning.
    const attributes = { "lintel.door": start.door, "lintel.method": start.method };
    this.#span = tracer.startSpan(name, { kind: api.SpanKind.SERVER, attributes }, parent);
    this.#context = api.trace.setSpan(parent, this.#span);
    this.recorded = this.#span.isRecording();
  }

  attempt(record: AttemptRecord): TraceContext {
    this.#others.attempt(record);
    const { span, place } = this.#ask(record, this.#attempts.length + 1);
    if (span) this.#attempts.push({ record, span });
    return place;
  }

  /**
   * The span of a question to a backend, and its place in the trace; of what nobody will see there is none.
   * @param attempt which of the call's it is, from 1
   */
  #ask(record: AttemptRecord, attempt: number | "mirror"): { span?: Span; place: TraceContext } {
    const tracestate = this.#start.trace?.tracestate;
    // One span is enough to say so to those behind.
    if (!this.recorded) return { place: local(this.#span.spanContext(), tracestate) };
    const { api, tracer, providers } = this.#tracing;
    const { backend, model, startedAt } = record;
    const name = this.#operation?.name ?? this.#start.method;
    const provider = providers.get(backend) ?? ownProvider;
    const attributes = attemptAttributes(this.#operation, provider, record, attempt);
    const kind = api.SpanKind.CLIENT;
    const options = { kind, startTime: startedAt, attributes };
    const span = tracer.startSpan(`${name} ${model}`, options, this.#context);
    return { span, place: local(span.spanContext(), tracestate) };
  }

  /** A mirror is asked: one more span, which may end after the call's. */
  asked(record: AttemptRecord, of: Readonly<Attributes>): TraceContext {
    this.#others.mirrors?.asked(record, of);
    const { span, place } = this.#ask(record, "mirror");
    if (span) this.#mirrored = [...(this.#mirrored ?? []), { record, span }];
    return place;
  }

  answered(mirrored: Mirrored): void {
    this.#others.mirrors?.answered(mirrored);
    const asked = this.#mirrored?.find(({ record }) => record === mirrored.record);
    if (!asked) return;
    // What a mirror took is told nowhere else.
    if (asked.record.outcome === "ok")
      asked.span.setAttributes(usageAttributes(mirrored.attributes));
    this.#endAttempt(asked);
  }

  passedOver(what: NotMirrored): void {
    this.#others.mirrors?.passedOver(what);
  }

  get traceId(): string {
    return this.#span.spanContext().traceId;
  }

  get wantsNames(): boolean {
    return this.recorded;
  }

  named(record: AttemptRecord, name: AnswerName): void {
    const of = (asked: Asked) => asked.record === record;
    const asked = this.#attempts.find(of) ?? this.#mirrored?.find(of);
    if (!asked) return;
    asked.name = name;
    asked.span.setAttributes(answerAttributes(name));
  }

  /** Of what nobody will see nothing is kept. */
  get wantsContent(): boolean {
    return this.#tracing.content && this.#span.isRecording();
  }

  end(call: Call, outcome: CallOutcome, said?: Said): void {
    this.#others.end(call, outcome);
    for (const asked of this.#attempts) this.#endAttempt(asked);
    const span = this.#span;
    if (span.isRecording()) {
      const { code, firstMs } = outcome;
      const { model } = call.attributes;
      if (this.#operation && model) span.updateName(`${this.#operation.name} ${model}`);
      span.setAttributes(operationAttributes(this.#operation, ownProvider));
      span.setAttributes(requestAttributes(call));
      span.setAttributes(callAttributes(call));
      const name = this.#delivered?.name;
      if (name) span.setAttributes(answerAttributes(name));
      if (said && this.#tracing.content) span.setAttributes(contentAttributes(call, said));
      this.#tellFirst(span, firstMs);
      if (code !== "ok") {
        span.setAttribute("error.type", code);
        // What the caller did wrong is no error of this side.
        if (isFault(code)) span.setStatus({ code: this.#tracing.api.SpanStatusCode.ERROR });
      }
    }
    span.end(outcome.endedAt);
  }

  /** The attempt whose answer, or as much of one as there was, the caller got. */
  get #delivered(): Asked | undefined {
    const of = (fits: (outcome: AttemptRecord["outcome"]) => boolean) =>
      this.#attempts.findLast(({ record }) => fits(record.outcome));
    return of((outcome) => outcome === "ok") ?? of((outcome) => outcome !== "slower");
  }

  /** Tokens stand at the call alone: who adds up the spans of a trace would count them twice. */
  #endAttempt({ record, span }: Asked): void {
    const { outcome, firstMs, startedAt, durationMs } = record;
    if (span.isRecording()) {
      this.#tellFirst(span, firstMs);
      if (outcome !== "ok") span.setAttribute("error.type", outcome);
      const failed = outcome !== "ok" && outcome !== "slower" && outcome !== "cancelled";
      if (failed) span.setStatus({ code: this.#tracing.api.SpanStatusCode.ERROR });
    }
    span.end(startedAt + durationMs);
  }

  #tellFirst(span: Span, firstMs: number | undefined): void {
    if (firstMs !== undefined && this.#operation?.stream) {
      span.setAttribute("gen_ai.response.time_to_first_chunk", firstMs / 1000);
    }
  }
}

const isFault = (code: ErrorCode) => errorTable[code].http >= 500;

/** The caller's place; the format was checked when it came in. */
function remote(api: Tracing["api"], { traceparent, tracestate }: TraceContext): SpanContext {
  return {
    traceId: traceparent.slice(3, 35),
    spanId: traceparent.slice(36, 52),
    traceFlags: Number.parseInt(traceparent.slice(53, 55), 16) & 1,
    isRemote: true,
    ...(tracestate !== undefined && { traceState: api.createTraceState(tracestate) }),
  };
}

/**
 * Of the flags the one that the Recommendation has: OpenTelemetry of Go, for one, takes a place with the
 * "random" of its draft for none at all.
 */
function local(
  { traceId, spanId, traceFlags }: SpanContext,
  tracestate: string | undefined,
): TraceContext {
  const traceparent = `00-${traceId}-${spanId}-0${traceFlags & 1}`;
  return tracestate === undefined ? { traceparent } : { traceparent, tracestate };
}
