/** Those who only want to know how calls ended. */
import type { Call } from "../core/call.js";
import type { CallOutcome, Observation, Telemetry } from "../core/telemetry.js";

/** Hears of the end of every call. */
export interface Watcher {
  end(call: Call, outcome: CallOutcome): void;
}

/** Tells watchers. One for all calls: nothing is made for a call. */
export class Watchers implements Telemetry, Observation {
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

  end(call: Call, outcome: CallOutcome): void {
    for (const watcher of this.#all) watcher.end(call, outcome);
  }
}
