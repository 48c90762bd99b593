/** What was used before this process began, on its way into counters in memory. */
import { atMost } from "../../core/abort.js";
import { usedCounters } from "../../core/limits/history.js";
import type { LimitSettings } from "../../core/limits/settings.js";
import { type Logger, reasonOf } from "../../core/log.js";
import { systemClock, type Timer } from "../../core/routing/clock.js";
import type { UsageHistory } from "../../core/usage/history.js";
import type { MemoryLimitStore } from "./memory.js";

/** What is counted. */
interface Counted {
  readonly limits: LimitSettings;
  /** Whether callers may bring limits of their own. */
  readonly callersOwn: boolean;
}

/** After which time a history that can't be read is asked again, milliseconds. */
const againMs = 10_000;

/** Reads the history, and adds it whenever it is there. */
export class PastUsage {
  readonly #history: UsageHistory;
  readonly #store: MemoryLimitStore;
  readonly #log: Logger;
  #late = false;
  #closed = false;
  #again: Timer | undefined;

  constructor(history: UsageHistory, store: MemoryLimitStore, log: Logger) {
    this.#history = history;
    this.#store = store;
    this.#log = log;
  }

  /**
   * Begins. Resolves when all is added, or takes too long; never rejects: the log says what is missing.
   * @param longestMs after which calls are let in meanwhile
   */
  async restore(counted: Counted, longestMs: number): Promise<void> {
    let added = false;
    const adding = this.#add(counted, Date.now()).then(() => {
      added = true;
    });
    await atMost(longestMs, adding);
    if (added) return;
    this.#late = true;
    this.#log.warn(
      {},
      "what was used before takes long to read: budgets and images per day begin at 0 until it is there",
    );
  }

  /** A failure from here on is that of a database that is being closed. */
  close(): void {
    this.#closed = true;
    this.#again?.cancel();
  }

  /** @param now of calls that began later nothing is in the history that is added */
  async #add(counted: Counted, now: number): Promise<void> {
    const { limits, callersOwn } = counted;
    try {
      const used = await usedCounters(this.#history, limits, callersOwn, now);
      if (this.#closed) return;
      for (const { key, period, ...entry } of used) {
        const span = { type: "calendar", period } as const;
        this.#store.restore({ key, span, limit: 0, estimated: true }, entry);
      }
      if (this.#late) {
        this.#log.info({}, "what was used before counts in budgets and images per day now");
      }
    } catch (error) {
      if (this.#closed) return;
      // Once is enough to know.
      if (!this.#again) {
        this.#log.warn(
          { reason: reasonOf(error) },
          "what was used before can't be read: budgets and images per day begin at 0 until it can",
        );
      }
      this.#late = true;
      this.#again = systemClock.after(againMs, () => void this.#add(counted, now));
    }
  }
}
