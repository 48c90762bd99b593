/** How long images stay: until they are too old, or all together too large. */
import { setMaxListeners } from "node:events";
import type { Logger } from "../core/log.js";

/** What the operator says. */
export interface RetentionSettings {
  /** How long an image is kept, milliseconds. */
  readonly ttlMs: number;
  /** Size of all images together, bytes. */
  readonly maxBytes: number;
  readonly log: Logger;
  /** The time, milliseconds since the epoch. Default: the system's. */
  readonly now?: (() => number) | undefined;
  /** Time between two sweeps, milliseconds. Default: a minute. */
  readonly sweepMs?: number | undefined;
}

/** An image as a listing of the store tells of it. */
export interface Listed {
  readonly name: string;
  readonly bytes: number;
  /** Milliseconds since the epoch. */
  readonly storedAt: number;
}

/** The place that is kept tidy. */
export interface Shelf {
  /**
   * Whether an image may be written before there is room for it, which is then
   * made in the background. Otherwise the image waits: a disk has an end.
   */
  readonly elastic: boolean;
  /** All images, in any order. */
  list(signal: AbortSignal): Promise<Listed[]>;
  delete(name: string, signal: AbortSignal): Promise<void>;
}

/** How full the store is after a sweep that made room: the next image shall not sweep again. */
const lowWater = 0.9;

/** Images that are deleted at the same time: a bucket takes a round trip for each. */
const atOnce = 16;

/** How far the clocks of those who share a store may be apart, milliseconds. */
const skewMs = 3_600_000;

/** How long an image that could not be deleted is left alone, milliseconds. */
const leftAloneMs = 3_600_000;

/** An image that goes at this age may go before its caller had its address, milliseconds. */
const youngMs = 60_000;

/** How often the log hears that such images go, milliseconds. */
const tellingMs = 600_000;

/** Whether an image could not be written since a disk, or its owner's share of it, is full. */
const fillsDisk = ({ code }: NodeJS.ErrnoException): boolean =>
  code === "ENOSPC" || code === "EDQUOT";

/** Keeps one store within its age and its size. */
export class Retention {
  readonly #shelf: Shelf;
  readonly #settings: RetentionSettings;
  readonly #timer: NodeJS.Timeout;
  readonly #closing = new AbortController();
  /** Bytes of the images that are there, as far as is known between two sweeps. */
  #stored = 0;
  /** Bytes of the images that are being written. */
  #pending = 0;
  /** Bytes that were there when the disk was full; until the next sweep there may be no more. */
  #room = Number.POSITIVE_INFINITY;
  #sweeping: Promise<void> | undefined;
  /** Names of images that could not be deleted, and until when they are not tried. */
  readonly #leftAlone = new Map<string, number>();
  /** Whether the last sweep failed to make room: the next image would fare no better. */
  #stuck = false;
  /** When the log heard that young images go. */
  #told = Number.NEGATIVE_INFINITY;

  constructor(shelf: Shelf, settings: RetentionSettings) {
    this.#shelf = shelf;
    this.#settings = settings;
    // Each deletion listens to it, and Node warns of more than ten.
    setMaxListeners(0, this.#closing.signal);
    this.#timer = setInterval(() => this.sweep(), settings.sweepMs ?? 60_000);
    this.#timer.unref();
    this.sweep();
  }

  /** The time, milliseconds since the epoch. */
  now(): number {
    return this.#settings.now?.() ?? Date.now();
  }

  /** When an image that was stored then is forgotten. */
  expiresAt(storedAt: number): number {
    return storedAt + this.#settings.ttlMs;
  }

  /** Whether an image that was stored then is too old. */
  expired(storedAt: number): boolean {
    return this.now() >= this.expiresAt(storedAt);
  }

  /** Writes an image, having made room for it or, where the shelf is elastic, while it is made. */
  async store(bytes: number, write: () => Promise<void>): Promise<void> {
    this.#pending += bytes;
    try {
      if (this.#shelf.elastic) {
        if (this.#over() && !this.#stuck) this.sweep();
      } else {
        // One that runs already may have looked before this image came.
        if (this.#over()) await this.#sweeping;
        if (this.#over()) await this.sweep();
      }
      await write().catch((error) => this.#makeRoom(error, write));
      this.#stored += bytes;
    } finally {
      this.#pending -= bytes;
    }
  }

  /** Writes an image that the disk had no room for. @param error what the disk said */
  async #makeRoom(error: NodeJS.ErrnoException, write: () => Promise<void>): Promise<void> {
    if (!fillsDisk(error)) throw error;
    if (this.#sweeping) {
      // It makes room for another image, or looked before there was none.
      await this.#sweeping;
      return write().catch((again) => this.#makeRoom(again, write));
    }
    if (this.#stored === 0) throw error;
    this.#settings.log.warn({ err: error }, "the disk is full: the oldest images make room");
    this.#room = this.#stored;
    await this.sweep();
    await write();
  }

  /**
   * When an image was stored, for the order in which images go. One from the future is of a
   * clock that was set back since: nobody knows its age, and all that came later would go
   * before it. It counts as old as may be.
   */
  #order({ storedAt }: Listed): number {
    const now = this.now();
    return storedAt > now + skewMs ? now - this.#settings.ttlMs : storedAt;
  }

  #over(): boolean {
    return this.#stored + this.#pending > this.#most;
  }

  /** Bytes that all images together may have. */
  get #most(): number {
    return Math.min(this.#settings.maxBytes, this.#room);
  }

  /**
   * Removes what is too old, and then the oldest until the rest fits. What can't be
   * deleted stays, counts, and is tried again after an hour. Never rejects.
   */
  sweep(): Promise<void> {
    if (this.#closing.signal.aborted) return Promise.resolve();
    this.#sweeping ??= this.#sweep()
      .catch((err) => {
        this.#stuck = true;
        if (this.#closing.signal.aborted) return;
        this.#settings.log.error({ err }, "images could not be swept");
      })
      .finally(() => {
        this.#sweeping = undefined;
        this.#room = Number.POSITIVE_INFINITY;
      });
    return this.#sweeping;
  }

  async #sweep(): Promise<void> {
    const { signal } = this.#closing;
    const before = this.#stored;
    const images = (await this.#shelf.list(signal)).sort((a, b) => this.#order(a) - this.#order(b));
    // What was written since the listing began counts, at worst twice until the next one.
    this.#stored += images.reduce((sum, { bytes }) => sum + bytes, 0) - before;
    for (const [name, until] of this.#leftAlone) {
      if (until <= this.now()) this.#leftAlone.delete(name);
    }
    const tried = images.filter(({ name }) => !this.#leftAlone.has(name));
    const { maxBytes, log } = this.#settings;
    const target = this.#over() ? this.#most * lowWater : maxBytes;
    let next = 0;
    let leaving = 0;
    let count = 0;
    let young = 0;
    let first: { name: string; err: unknown } | undefined;
    const remove = async () => {
      for (let image = tried[next]; image && !signal.aborted; image = tried[next]) {
        const { name, bytes, storedAt } = image;
        const fits = this.#stored - leaving + this.#pending <= target;
        if (fits && !this.expired(storedAt)) return;
        next++;
        leaving += bytes;
        try {
          await this.#shelf.delete(name, signal);
          this.#stored -= bytes;
          if (!this.expired(storedAt) && this.now() - storedAt < youngMs) young++;
        } catch (err) {
          this.#leftAlone.set(name, this.now() + leftAloneMs);
          count++;
          first ??= { name, err };
        }
        leaving -= bytes;
      }
    };
    await Promise.all(Array.from({ length: atOnce }, remove));
    this.#stuck = this.#leftAlone.size > 0 && this.#over();
    if (first && !signal.aborted) log.error({ ...first, count }, "images could not be deleted");
    if (young > 0 && this.now() - this.#told >= tellingMs) {
      this.#told = this.now();
      log.warn(
        { count: young, maxBytes },
        "images had to go within a minute: media.max_bytes is too small for what is made",
      );
    }
  }

  /** Sweeps no more. Resolves once a sweep that runs gave up what it had left. */
  async close(): Promise<void> {
    clearInterval(this.#timer);
    this.#closing.abort();
    await this.#sweeping;
  }
}
