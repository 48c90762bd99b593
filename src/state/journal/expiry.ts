/** Deletes usage that is older than it is kept, unless the clock can't be trusted. */
import type { Logger } from "../../core/log.js";
import { type Clock, systemClock } from "../../core/routing/clock.js";
import type { DatabaseUsage } from "../database/usage.js";

/** What it is made with. */
export interface ExpirySettings {
  readonly usage: DatabaseUsage;
  readonly log: Logger;
  /** After which time records are deleted from the database; absent: never. */
  readonly retentionMs?: number | undefined;
  /** Default: the process's own. */
  readonly clock?: Pick<Clock, "now" | "wall"> | undefined;
}

/** How often to delete, milliseconds. */
const purgeMs = 3_600_000;

/**
 * How soon again where that failed, milliseconds. Not with every record: a database that takes
 * records and lets none be deleted would count as away each time.
 */
const retryMs = 300_000;

/** By how much the time of day may leave the time that passes before it counts as set, milliseconds. */
const leapMs = 3_600_000;

/** How long nothing is deleted after that, milliseconds: it may be set right again. */
const doubtMs = 86_400_000;

/** The end of old records. */
export class Expiry {
  readonly #settings: ExpirySettings;
  readonly #clock: Pick<Clock, "now" | "wall">;
  /** When it is time to delete, by the clock that is never set, as the next one. */
  #due = Number.NEGATIVE_INFINITY;
  #leaptAt = Number.NEGATIVE_INFINITY;
  /** Of the time of day from that clock. */
  #offset: number;

  constructor(settings: ExpirySettings) {
    this.#settings = settings;
    this.#clock = settings.clock ?? systemClock;
    const now = this.#clock.now();
    this.#offset = this.#clock.wall(now) - now;
  }

  /**
   * Deletes what is old, if it is time for that.
   * @throws DatabaseAway
   */
  async purge(): Promise<void> {
    const { retentionMs, usage, log } = this.#settings;
    if (retentionMs === undefined) return;
    const now = this.#clock.now();
    const wall = this.#clock.wall(now);
    const leapt = wall - now - this.#offset;
    this.#offset += leapt;
    if (Math.abs(leapt) > leapMs) {
      this.#leaptAt = now;
      log.warn(
        { byMs: Math.round(leapt) },
        "the clock was set: no old usage is deleted for a day, in case it is wrong",
      );
    }
    if (now - this.#leaptAt < doubtMs || now < this.#due) return;
    this.#due = now + retryMs;
    const deleted = await usage.purge(wall - retentionMs);
    this.#due = now + purgeMs;
    if (deleted > 0) log.info({ deleted }, "old usage is deleted");
  }
}
