/** Those who only want to know how calls ended. */
import type { Call } from "../core/call.js";
import type { AttemptRecord, Attributes } from "../core/call-attributes.js";
import type { Mirrored, NotMirrored } from "../core/mirrored.js";
import type { CallOutcome, MirrorObservation, Observation, Telemetry } from "../core/telemetry.js";

/** Hears of the end of every call. */
export interface Watcher {
  end(call: Call, outcome: CallOutcome): void;
  /** Also of what is mirrored. Default: not. */
  asked?(record: AttemptRecord, of: Readonly<Attributes>): void;
  answered?(mirrored: Mirrored): void;
  passedOver?(what: NotMirrored): void;
}

/** Tells watchers. One for all calls: nothing is made for a call. */
export class Watchers implements Telemetry, Observation, MirrorObservation {
  readonly mirrors = this;
  readonly #all: readonly Watcher[];

  constructor(all: readonly Watcher[]) {
    this.#all = all;
  }

  begin(): Observation {
    return this;
  }

  attempt(): undefined {
    return undefined;
  }

  asked(record: AttemptRecord, of: Readonly<Attributes>): undefined {
    for (const watcher of this.#all) watcher.asked?.(record, of);
  }

  answered(mirrored: Mirrored): void {
    for (const watcher of this.#all) watcher.answered?.(mirrored);
  }

  passedOver(what: NotMirrored): void {
    for (const watcher of this.#all) watcher.passedOver?.(what);
  }

  end(call: Call, outcome: CallOutcome): void {
    for (const watcher of this.#all) watcher.end(call, outcome);
  }
}
