/** What a server lists, read now and then, and sooner where it could not be read. */
import type { CallSignal } from "../../core/cancellation.js";
import { LintelError, toLintelError } from "../../core/errors.js";
import type { Logger } from "../../core/log.js";

/** What is read, and how often. */
export interface ListingOptions<T> {
  /** Asks the server. */
  read(signal: CallSignal): Promise<T>;
  /** Called after each reading, however it went. */
  changed(): void;
  /** Milliseconds between two readings; 0: none after the first that succeeds. */
  readonly refresh: number;
  /** Whose list it is, for the log. */
  readonly backend: string;
  readonly log: Logger;
}

/** Milliseconds after which a server that did not answer is asked again, at first. */
const firstRetry = 1000;

/** Milliseconds after which it is asked again at the latest, where nothing else says when. */
const lastRetry = 60_000;

/** Keeps what a server listed last. Nothing is read before the first `refresh`. */
export class Listing<T> {
  /** What was read last; absent until then. */
  value: T | undefined;
  /** Whether it was ever read. */
  known = false;
  /** Why the last reading failed, if it did. */
  failure: LintelError | undefined;
  readonly #options: ListingOptions<T>;
  readonly #stop = new AbortController();
  #reading: Promise<void> | undefined;
  #timer: NodeJS.Timeout | undefined;
  #retry = firstRetry;
  #read = false;

  constructor(options: ListingOptions<T>) {
    this.#options = options;
  }

  /** Waits for the first reading. @throws LintelError as the last one failed */
  async ready(): Promise<void> {
    if (!this.#read) await this.#reading;
    if (this.failure) throw this.failure;
  }

  /** Reads now; one reading at a time. Never throws: `failure` says how it went. */
  refresh(): Promise<void> {
    if (this.#stop.signal.aborted) return Promise.resolve();
    this.#reading ??= this.#update().finally(() => {
      this.#reading = undefined;
    });
    return this.#reading;
  }

  /** Stops reading. */
  close(): void {
    clearTimeout(this.#timer);
    this.#stop.abort(new LintelError("shutting_down", "the backend was closed"));
  }

  async #update(): Promise<void> {
    clearTimeout(this.#timer);
    const { refresh, backend, log, read, changed } = this.#options;
    let next = refresh;
    try {
      this.value = await read(this.#stop.signal);
      this.known = true;
      this.failure = undefined;
      this.#retry = firstRetry;
    } catch (thrown) {
      if (this.#stop.signal.aborted) return;
      const failure = toLintelError(thrown);
      // One that goes on is told once; its words may be others each time, with a number of the request.
      if (this.failure?.code !== failure.code)
        log.warn({ backend, err: failure }, "the list of models can't be read");
      this.failure = failure;
      next = Math.min(this.#retry, refresh || lastRetry);
      this.#retry *= 2;
    }
    this.#read = true;
    changed();
    if (next > 0 && !this.#stop.signal.aborted) {
      this.#timer = setTimeout(() => void this.refresh(), next).unref();
    }
  }
}
