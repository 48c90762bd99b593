/**
 * Brings the journal's files into the database: this process's own about every
 * second, and those that processes left behind that are dead.
 */
import { performance } from "node:perf_hooks";
import { atMost } from "../../core/abort.js";
import type { Logger } from "../../core/log.js";
import { OutageReasons } from "../../core/outage.js";
import type { Clock } from "../../core/routing/clock.js";
import { DatabaseAway } from "../database/sql.js";
import type { DatabaseUsage } from "../database/usage.js";
import { Expiry } from "./expiry.js";
import type { Journal } from "./journal.js";
import { WaitingFiles } from "./waiting-files.js";

/** What a shipper is made with. */
export interface ShipperSettings {
  readonly directory: string;
  readonly usage: DatabaseUsage;
  readonly log: Logger;
  /** This process's own journal; absent: only what others left is sent. */
  readonly journal?: Journal | undefined;
  /** How long records wait so that several go at once, milliseconds. Default 1000. */
  readonly shipMs?: number | undefined;
  /** After which time records are deleted from the database; absent: never. */
  readonly retentionMs?: number | undefined;
  /** Most bytes that may wait on the disk while the database is away. Default 1 GiB. */
  readonly maxBytes?: number | undefined;
  /** How long the last records may take at the end, milliseconds. They are safe on the disk anyway. Default 3000. */
  readonly closeMs?: number | undefined;
  /** Default: the process's own. */
  readonly clock?: Pick<Clock, "now" | "wall"> | undefined;
}

/** How often to look for what others left, milliseconds. */
const orphansMs = 60_000;

/** Longest pause between attempts while the database is away, milliseconds. */
const longestPauseMs = 30_000;

/** What the log says of an outage. */
const words = {
  database: {
    away: "the database of usage is away; records wait on the disk until it is back",
    still: "the database of usage is still away",
    back: "the database of usage is back",
  },
  folder: {
    away: "the folder of usage can't be read; records wait in it until it can be",
    still: "the folder of usage can't be read still",
    back: "the folder of usage is back",
  },
};

/** Sends the journal on. `close` it when done. */
export class Shipper {
  readonly #settings: Required<Omit<ShipperSettings, "journal" | "retentionMs" | "clock">> &
    Pick<ShipperSettings, "journal" | "retentionMs" | "clock">;
  #timer: NodeJS.Timeout | undefined;
  /** When the timer fires, as `performance.now` says. */
  #due = Number.POSITIVE_INFINITY;
  #running: Promise<void> | undefined;
  #pauseMs = 0;
  #outages = 0;
  #waitingBytes = 0;
  /** What was away first, while something is. */
  #missing: keyof typeof words = "database";
  readonly #reasons = new OutageReasons();
  readonly #files: WaitingFiles;
  readonly #expiry: Expiry;
  #closed = false;

  constructor(settings: ShipperSettings) {
    this.#settings = {
      ...settings,
      shipMs: settings.shipMs ?? 1000,
      maxBytes: settings.maxBytes ?? 2 ** 30,
      closeMs: settings.closeMs ?? 3000,
    };
    this.#files = new WaitingFiles(settings);
    this.#expiry = new Expiry(settings);
  }

  /** Whether the database, or the folder, could not be used when it was tried last. */
  get away(): boolean {
    return this.#pauseMs > 0;
  }

  /** How often that came to be. */
  get outages(): number {
    return this.#outages;
  }

  /** Bytes that waited on the disk when they could not be sent the last time; 0 while they can. */
  get waitingBytes(): number {
    return this.#waitingBytes;
  }

  /** Most bytes that may. */
  get mostWaitingBytes(): number {
    return this.#settings.maxBytes;
  }

  /**
   * Begins.
   * @returns resolves when what was left by processes that are dead is in the
   *   database, or it is known that this has to wait for the database
   */
  start(): Promise<void> {
    return this.ship();
  }

  /** Something was written: it will be sent soon. */
  notice(): void {
    if (this.#running || this.away) return;
    const { shipMs } = this.#settings;
    // Not put off by what comes later: there may be no pause.
    if (this.#due > performance.now() + shipMs) this.#schedule(shipMs);
  }

  /** Sends all there is now. Never rejects. */
  ship(): Promise<void> {
    this.#running ??= this.#round().finally(() => {
      this.#running = undefined;
      if (this.#closed) return;
      const { journal, shipMs } = this.#settings;
      const waits = journal?.current !== undefined || (journal?.held.size ?? 0) > 0;
      this.#schedule(this.away ? this.#pauseMs : waits ? shipMs : orphansMs);
    });
    return this.#running;
  }

  /** Sends all that was written before. Never rejects. */
  async flush(): Promise<void> {
    // The round that runs may not know of what was written last.
    await this.#running;
    await this.ship();
  }

  /** Sends what it can and stops. What is left is for the next start. */
  async close(): Promise<void> {
    this.#closed = true;
    clearTimeout(this.#timer);
    const { journal, closeMs } = this.#settings;
    journal?.retry();
    journal?.seal();
    // The round that runs may not know of the file that was sealed.
    const last = (this.#running ?? Promise.resolve()).then(() => this.ship());
    await atMost(closeMs, last);
    journal?.end();
  }

  #schedule(ms: number): void {
    clearTimeout(this.#timer);
    if (this.#closed) return;
    this.#due = performance.now() + ms;
    this.#timer = setTimeout(() => void this.ship(), ms);
    this.#timer.unref();
  }

  async #round(): Promise<void> {
    const { journal, log, maxBytes } = this.#settings;
    try {
      await this.#sendHeld();
      // While the database is away there would be a small file for each attempt.
      if (this.away) journal?.touch();
      else journal?.seal();
      let names = await this.#files.names();
      if (names.length === 0 && this.away) {
        journal?.seal();
        names = await this.#files.names();
      }
      for (const name of names) await this.#files.send(name);
      // An idle gateway does not open the database for this.
      if (names.length > 0) await this.#expiry.purge();
      if (this.away) log.info({}, words[this.#missing].back);
      this.#pauseMs = 0;
    } catch (error) {
      if (!this.away) {
        this.#outages++;
        this.#missing = error instanceof DatabaseAway ? "database" : "folder";
        log.warn({ error: this.#reasons.begin(error) }, words[this.#missing].away);
      } else {
        const reason = this.#reasons.next(error);
        if (reason !== undefined) log.warn({ error: reason }, words[this.#missing].still);
      }
      const doubled = Math.min(longestPauseMs, Math.max(1000, this.#pauseMs * 2));
      this.#pauseMs = doubled * (0.75 + Math.random() / 4);
    }
    if (!journal) return;
    const all = !this.away && !this.#files.stuck;
    // A folder that can't be read is as full as it was.
    this.#waitingBytes = all ? 0 : await this.#files.bytes().catch(() => this.#waitingBytes);
    journal.full = this.#waitingBytes > maxBytes;
  }

  /**
   * Sends what the disk does not take. First of all: the folder may not even be readable.
   * @throws DatabaseAway if it has to wait on
   */
  async #sendHeld(): Promise<void> {
    const { journal, usage, log } = this.#settings;
    if (!journal || journal.held.size === 0) return;
    const lines = [...journal.held];
    // There is no file to put them aside in.
    for (const { line, reason } of await usage.insert(lines)) {
      log.error({ error: reason, line }, "the database does not take a record of usage");
    }
    journal.release(lines);
  }
}
