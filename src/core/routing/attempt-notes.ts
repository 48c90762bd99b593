/** What is noted down of one attempt: for its call's log and spans, the measures of its target, and its quota. */
import type { AttemptRecord } from "../call-attributes.js";
import type { Observation } from "../telemetry.js";
import type { Batch } from "./attempt.js";
import { AttemptTokens } from "./attempt-tokens.js";
import type { Clock } from "./clock.js";
import { NamedAnswer } from "./named-answer.js";
import type { Target } from "./target.js";

/** What they are made of. */
export interface NotesOptions {
  readonly target: Target;
  readonly clock: Clock;
  /** When it begins, as the clock says. */
  readonly now: number;
  /** Whether another target was asked already, and has not answered yet. */
  readonly hedge: boolean;
  /** Of the prompt, as they were taken from the target's quota. */
  readonly tokens: number;
}

/** Notes of an attempt. */
export class AttemptNotes {
  readonly record: AttemptRecord;
  /** As the clock says. */
  readonly startedAt: number;
  readonly #target: Target;
  readonly #observation: Observation | undefined;
  /** Where somebody wants to know. */
  readonly #name: NamedAnswer | undefined;
  /** Where a quota counts them. */
  readonly #tokens: AttemptTokens | undefined;

  constructor(options: NotesOptions, observation: Observation | undefined) {
    const { target, clock, now, hedge, tokens } = options;
    this.startedAt = now;
    this.#target = target;
    this.#observation = observation;
    this.#name = observation?.wantsNames ? new NamedAnswer() : undefined;
    const { quota } = target.endpoint;
    this.#tokens = quota?.countsTokens ? new AttemptTokens(quota, tokens) : undefined;
    this.record = {
      backend: target.backend.name,
      model: target.model.id,
      startedAt: clock.wall(now),
      outcome: "running",
      durationMs: 0,
    };
    if (hedge) this.record.hedge = true;
  }

  /** A step came. */
  add(step: IteratorResult<Batch>): void {
    if (step.done) return;
    this.#name?.add(step.value);
    this.#tokens?.add(step.value);
  }

  /**
   * It answers the call.
   * @param streams whether its first message comes before the whole of the answer is made
   * @param notItsMs of the time since it began that which is not the target's
   */
  first(now: number, streams: boolean, notItsMs: number): void {
    this.record.firstMs = now - this.startedAt;
    if (streams) this.#target.endpoint.first.add(this.record.firstMs - notItsMs);
  }

  /** It is over. @param notItsMs as for `first` */
  end(outcome: AttemptRecord["outcome"], now: number, notItsMs: number): void {
    const { record } = this;
    const { endpoint } = this.#target;
    record.outcome = outcome;
    record.durationMs = now - this.startedAt;
    this.#tokens?.end(this.startedAt, now);
    const tookMs = record.durationMs - notItsMs;
    if (outcome === "ok") endpoint.whole.add(tookMs);
    // As slow as that at least: that is more than is usual for it. Of one that was asked
    // later, and was given up early, it would be a time far below its own.
    if (outcome === "slower" && !record.hedge) endpoint.first.add(tookMs);
    if (this.#name) this.#observation?.named?.(record, this.#name);
  }
}
