/** How long images stay: until they are too old, or all together too large. */
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
  /** All images, in any order. */
  list(): Promise<Listed[]>;
  delete(name: string): Promise<void>;
}

/** How full the store is after a sweep that made room: the next image shall not sweep again. */
const lowWater = 0.9;

/** Keeps one store within its age and its size. */
export class Retention {
  readonly #shelf: Shelf;
  readonly #settings: RetentionSettings;
  readonly #timer: NodeJS.Timeout;
  /** Bytes of the images that are there, as far as is known between two sweeps. */
  #stored = 0;
  /** Bytes of the images that are being written. */
  #pending = 0;
  #sweeping: Promise<void> | undefined;

  constructor(shelf: Shelf, settings: RetentionSettings) {
    this.#shelf = shelf;
    this.#settings = settings;
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

  /** Writes an image, having made room for it. */
  async store(bytes: number, write: () => Promise<void>): Promise<void> {
    this.#pending += bytes;
    try {
      // Twice: a sweep that runs already may have looked before this image came.
      for (let i = 0; i < 2 && this.#stored + this.#pending > this.#settings.maxBytes; i++) {
        await this.sweep();
      }
      await write();
      this.#stored += bytes;
    } finally {
      this.#pending -= bytes;
    }
  }

  /** Removes what is too old, and then the oldest until the rest fits. Never rejects. */
  sweep(): Promise<void> {
    this.#sweeping ??= this.#sweep()
      .catch((err) => this.#settings.log.error({ err }, "images could not be swept"))
      .finally(() => {
        this.#sweeping = undefined;
      });
    return this.#sweeping;
  }

  async #sweep(): Promise<void> {
    const images = (await this.#shelf.list()).sort((a, b) => a.storedAt - b.storedAt);
    let left = images.reduce((sum, { bytes }) => sum + bytes, 0);
    const { maxBytes } = this.#settings;
    const target = left + this.#pending > maxBytes ? maxBytes * lowWater : maxBytes;
    for (const { name, bytes, storedAt } of images) {
      if (!this.expired(storedAt) && left + this.#pending <= target) break;
      await this.#shelf.delete(name);
      left -= bytes;
    }
    this.#stored = left;
  }

  /** Sweeps no more. Resolves once the last sweep ended. */
  async close(): Promise<void> {
    clearInterval(this.#timer);
    await this.#sweeping;
  }
}
