/** A second target is asked when the first one is slow to begin; whoever is first answers. */
import { streams } from "../adapt.js";
import type { Call } from "../call.js";
import type { LintelError } from "../errors.js";
import type { Attempt, Batch } from "./attempt.js";
import type { Clock } from "./clock.js";
import type { HedgeSettings } from "./settings.js";
import type { Target } from "./target.js";

/** Times to the first message that hedging wants to know before it begins. */
const enough = 20;

/**
 * Milliseconds to wait for a target before a second one is asked; `undefined`: none is.
 * @param settings absent: calls like this one are not hedged
 */
export function hedgeDelay(
  call: Call,
  settings: HedgeSettings | undefined,
  { backend, endpoint }: Target,
): number | undefined {
  if (!settings || call.method !== "chat" || !streams(call, backend)) return undefined;
  if (endpoint.first.samples < enough) return undefined;
  return Math.max(settings.leastMs, endpoint.first.percentile(settings.percentile) ?? 0);
}

/** An attempt with its place taken. */
export interface Started {
  readonly attempt: Attempt;
  readonly probe: boolean;
}

/** How the first of them came out. */
export type Outcome =
  | { readonly attempt: Attempt; readonly first: IteratorResult<Batch> }
  | { readonly attempt: Attempt; readonly failure: LintelError };

/** What hedging needs. */
export interface Hedge {
  readonly clock: Clock;
  /** Milliseconds until the second one is asked. */
  readonly after: number;
  /** Asks one, and waits for its first messages. */
  first(started: Started): Promise<IteratorResult<Batch>>;
  /** The second one, if there may be one. */
  second(): Started | undefined;
  /**
   * One failed.
   * @returns why; the other goes on unless that is about the request
   */
  lost(attempt: Attempt, thrown: unknown): LintelError;
}

/** The first that is answered; where all fail, one after which no other attempt may follow, or else the last to. */
export function hedged(start: Started, hedge: Hedge): Promise<Outcome> {
  return new Promise((resolve) => {
    let running = 0;
    let over = false;
    let final: Outcome | undefined;
    const end = (outcome: Outcome) => {
      over = true;
      resolve(outcome);
    };
    const run = (started: Started) => {
      const { attempt } = started;
      running++;
      hedge.first(started).then(
        (first) => {
          timer.cancel();
          end({ attempt, first });
        },
        (thrown) => {
          timer.cancel();
          // Given up because of the other one.
          if (over) return;
          running--;
          const failure = hedge.lost(attempt, thrown);
          const outcome: Outcome = { attempt, failure };
          if (failure.retry === "never") {
            // A server's own fault is not the other's, which runs already.
            if (failure.code !== "upstream_failed") return end(outcome);
            final ??= outcome;
          }
          if (running === 0) end(final ?? outcome);
        },
      );
    };
    const timer = hedge.clock.after(hedge.after, () => {
      // A second one would wait for the same document.
      if (start.attempt.reads) return timer.refresh();
      const second = hedge.second();
      if (second) run(second);
    });
    run(start);
  });
}
