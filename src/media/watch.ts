/** Watches over a place for images: whether it does what is asked of it, and since when not. */
import { type Logger, reasonOf } from "../core/log.js";
import { type Clock, systemClock, type Timer } from "../core/routing/clock.js";

/** What is wrong with a place. */
export interface Trouble extends Error {
  /** Whether it may work later as it is: nobody has to change the configuration, or the place. */
  readonly passing: boolean;
  /** The trouble without words that are others each time, such as a request's id. */
  readonly kind: string;
}

/** How long it is left alone while nobody asks it for anything, milliseconds; doubles up to the second. */
const pauses = { first: 1000, longest: 30_000 };

/** How often the log hears that it goes away, milliseconds: one that fails every other request would fill it. */
const calmMs = 60_000;

/** What the log says. */
const words = {
  bucket: { away: "the bucket of images is away", back: "the bucket of images is back" },
  folder: { away: "the folder of images is away", back: "the folder of images is back" },
};

/** A place for images. */
export interface Watched<T extends Trouble> {
  readonly place: keyof typeof words;
  /** What is wrong with it. @param thrown by what was asked of it */
  troubleOf(thrown: unknown): T;
  /** Asks something small of it. */
  probe(): Promise<unknown>;
}

/**
 * Whether a place does what is asked of it, as of what was asked last. Where it may be back without
 * anybody's doing, it is asked now and then, and once where somebody gave up waiting for it. Says in the log when that changes, or the trouble does.
 */
export class StoreWatch<T extends Trouble> {
  readonly #watched: Watched<T>;
  readonly #log: Logger;
  readonly #clock: Clock;
  #away = false;
  #outages = 0;
  /** The trouble that the log heard of; absent: none since it was there. */
  #told: string | undefined;
  #toldAt = Number.NEGATIVE_INFINITY;
  #pauseMs = pauses.first;
  #timer: Timer | undefined;
  /** How often it answered. */
  #answers = 0;
  #probing = false;
  #closed = false;

  constructor(watched: Watched<T>, log: Logger, clock: Clock = systemClock) {
    this.#watched = watched;
    this.#log = log;
    this.#clock = clock;
  }

  get away(): boolean {
    return this.#away;
  }

  /** How often it went away. */
  get outages(): number {
    return this.#outages;
  }

  /** What `work` answers. @throws Trouble; what was given up here as it is */
  async ask<A>(work: () => Promise<A>): Promise<A> {
    try {
      const answer = await work();
      this.#answered();
      return answer;
    } catch (thrown) {
      throw this.failed(thrown);
    }
  }

  /** Something that it was asked failed. @returns why */
  failed(thrown: unknown): Error {
    if (thrown instanceof Error && thrown.name === "AbortError") {
      this.#doubt();
      return thrown;
    }
    const error = this.#watched.troubleOf(thrown);
    if (this.#closed) return error;
    if (!this.#away) {
      this.#away = true;
      this.#outages++;
      this.#pauseMs = pauses.first;
    }
    this.#tell(error);
    // What a key may not do, it may do no more for being asked something else.
    if (error.passing) this.#timer ??= this.#askLater();
    return error;
  }

  /** Asks no more. */
  close(): void {
    this.#closed = true;
    this.#timer?.cancel();
  }

  #tell(error: T): void {
    const now = this.#clock.now();
    if (this.#told === error.kind || now - this.#toldAt < calmMs) return;
    this.#told = error.kind;
    this.#toldAt = now;
    const told = { store: "images", reason: reasonOf(error) };
    this.#log.warn(told, words[this.#watched.place].away);
  }

  /** Somebody waited no longer: those who have less patience than the watch would never see it away. */
  #doubt(): void {
    if (this.#closed || this.#away || this.#probing || this.#timer) return;
    this.#pauseMs = pauses.first;
    this.#timer = this.#askLater();
  }

  #askLater(): Timer {
    const wait = this.#pauseMs;
    this.#pauseMs = Math.min(2 * wait, pauses.longest);
    return this.#clock.after(wait, () => {
      this.#timer = undefined;
      void this.#probe();
    });
  }

  async #probe(): Promise<void> {
    const before = this.#answers;
    this.#probing = true;
    try {
      await this.#watched.probe();
    } catch (thrown) {
      this.#probing = false;
      // Others may have been answered meanwhile.
      if (this.#answers === before) this.failed(thrown);
      return;
    }
    this.#probing = false;
    this.#answered();
  }

  #answered(): void {
    this.#answers++;
    this.#timer?.cancel();
    this.#timer = undefined;
    if (!this.#away) return;
    this.#away = false;
    if (this.#told === undefined) return;
    this.#told = undefined;
    this.#log.info({ store: "images" }, words[this.#watched.place].back);
  }
}
