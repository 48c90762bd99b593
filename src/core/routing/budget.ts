/** Keeps retries from making an outage worse: they may only be a share of all requests. */
import type { RetrySettings } from "./settings.js";
import { RollingCounts } from "./window.js";

/** How many further attempts there may be, over all calls. */
export class RetryBudget {
  readonly #settings: RetrySettings;
  readonly #counts: RollingCounts;
  #denied = 0;

  constructor(settings: RetrySettings) {
    this.#settings = settings;
    this.#counts = new RollingCounts(settings.windowMs);
  }

  /** A call came. */
  request(now: number): void {
    this.#counts.add(now, 1, 0);
  }

  /** Takes one further attempt out of the budget. False: there is none left. */
  take(now: number): boolean {
    if (!this.hasRoom(now)) {
      this.#denied++;
      return false;
    }
    this.#counts.add(now, 0, 1);
    return true;
  }

  /** Whether a further attempt is left. */
  hasRoom(now: number): boolean {
    const { budget, floor } = this.#settings;
    return this.#counts.marked(now) + 1 <= floor + budget * this.#counts.total(now);
  }

  /** Of the last window; `denied` since the start. */
  snapshot(now: number): { requests: number; retries: number; denied: number } {
    return {
      requests: this.#counts.total(now),
      retries: this.#counts.marked(now),
      denied: this.#denied,
    };
  }
}
