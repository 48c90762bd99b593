/** What was used before it was counted, on its way into counters in memory. */
import { setImmediate } from "node:timers/promises";
import { atMost } from "../../core/abort.js";
import {
  type PastLimits,
  type PastScope,
  pastScopes,
  usedCounters,
  usersAtOnce,
} from "../../core/limits/history.js";
import { type Logger, reasonOf } from "../../core/log.js";
import { systemClock, type Timer } from "../../core/routing/clock.js";
import { type TimeZone, utc } from "../../core/time-zone.js";
import type { UsageHistory } from "../../core/usage/history.js";
import { type CalendarSnapshot, type MemoryLimitStore, usedOf } from "./memory.js";

/** After which time a history that can't be read is asked again, milliseconds. */
const againMs = 10_000;

/** What becomes of counters when the limits change. */
export interface LimitChange {
  /** Resolves when those of new limits have what was used before, or that takes too long; never rejects. */
  readonly added: Promise<void>;
  /** To be called when the calls that began before have ended: only then the history has all that they used. */
  ended(): void;
}

/** Where nothing has to be added. */
export const unchanged: LimitChange = { added: Promise.resolve(), ended() {} };

/** Counters on their way to what the history says. */
interface Restoring {
  readonly scopes: readonly PastScope[];
  /** Of calls that began later nothing is in the history that is added: they are counted. */
  readonly until: number;
  /** What of the calls before is in the counters already: of those that ended, as in the history. */
  readonly known: CalendarSnapshot;
  /** Whether all those calls have ended: the history knows of a call when it has. */
  ended: boolean;
  /** Whether the log has to say when it is there. */
  late: boolean;
  /** Says that what the history has is in the counters, or will not be. */
  readonly complete: () => void;
  again?: Timer;
}

/** Reads the history, and adds it whenever it is there. */
export class PastUsage {
  readonly #history: UsageHistory;
  readonly #store: MemoryLimitStore;
  readonly #zone: TimeZone;
  readonly #log: Logger;
  readonly #running = new Set<Restoring>();
  #names: ReadonlySet<string> = new Set();
  #closed = false;

  /** @param zone by whose clocks the store's periods begin */
  constructor(history: UsageHistory, store: MemoryLimitStore, log: Logger, zone = utc) {
    this.#history = history;
    this.#zone = zone;
    this.#store = store;
    this.#log = log;
  }

  /**
   * Begins. Resolves when all is added, or takes too long; never rejects: the log says what is missing.
   * @param longestMs after which calls are let in meanwhile
   */
  async restore(counted: PastLimits, longestMs: number): Promise<void> {
    await this.#addWithin(longestMs, this.#begin(counted, true));
  }

  /**
   * Goes on with other limits. Those that are new count what was used before, too.
   * @param longestMs as of `restore`
   */
  change(counted: PastLimits, longestMs: number): LimitChange {
    const restoring = this.#begin(counted, false);
    if (restoring.scopes.length === 0) {
      this.#forget(restoring);
      return unchanged;
    }
    return {
      added: this.#addWithin(longestMs, restoring),
      ended: () => {
        restoring.ended = true;
        void this.#add(restoring);
      },
    };
  }

  /** A failure from here on is that of a database that is being closed. */
  close(): void {
    this.#closed = true;
    for (const restoring of this.#running) {
      restoring.again?.cancel();
      this.#forget(restoring);
    }
  }

  #forget(restoring: Restoring): void {
    restoring.complete();
    restoring.known.end();
    this.#running.delete(restoring);
  }

  #begin(counted: PastLimits, ended: boolean): Restoring {
    const scopes = pastScopes(counted);
    const before = this.#names;
    this.#names = new Set(scopes.map(({ name }) => name));
    const restoring = {
      scopes: scopes.filter(({ name }) => !before.has(name)),
      until: Date.now(),
      known: this.#store.snapshot(),
      ended,
      late: false,
      complete: this.#store.expectMore(),
    };
    this.#running.add(restoring);
    return restoring;
  }

  async #addWithin(longestMs: number, restoring: Restoring): Promise<void> {
    let added = false;
    const adding = this.#add(restoring).then(() => {
      added = true;
    });
    await atMost(longestMs, adding);
    if (added) return;
    restoring.late = true;
    this.#log.warn(
      {},
      "what was used before takes long to read: budgets and images per day begin at 0 until it is there",
    );
  }

  /** Adds what the history says beyond what is known: as often as it likes. */
  async #add(restoring: Restoring): Promise<void> {
    if (this.#closed) return;
    restoring.again?.cancel();
    const { ended } = restoring;
    try {
      const { scopes, until } = restoring;
      for await (const used of usedCounters(this.#history, scopes, until, this.#zone)) {
        for (const [i, { key, period, ...entry }] of used.entries()) {
          if (i > 0 && i % usersAtOnce === 0) await setImmediate();
          if (this.#closed || !this.#running.has(restoring)) return;
          const more = entry.used - usedOf(restoring.known.entries, key, entry.start);
          if (more <= 0) continue;
          const span = { type: "calendar", period } as const;
          this.#store.restore(
            { key, span, limit: 0, estimated: true },
            { start: entry.start, used: more },
          );
          for (const { known } of this.#running) {
            const used = usedOf(known.entries, key, entry.start) + more;
            known.entries.set(key, { start: entry.start, used });
          }
        }
      }
      if (this.#closed || !this.#running.has(restoring)) return;
      restoring.complete();
      if (restoring.late) {
        restoring.late = false;
        this.#log.info({}, "what was used before counts in budgets and images per day now");
      }
      if (ended) this.#forget(restoring);
    } catch (error) {
      if (this.#closed) return;
      // Once is enough to know.
      if (!restoring.again) {
        this.#log.warn(
          { reason: reasonOf(error) },
          "what was used before can't be read: budgets and images per day begin at 0 until it can",
        );
      }
      restoring.late = true;
      restoring.again = systemClock.after(againMs, () => void this.#add(restoring));
    }
  }
}
