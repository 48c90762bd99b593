/** What is wrong with a bucket, in words, and since when. */
import { type Logger, Refusal, reasonOf } from "../core/log.js";
import { type Clock, systemClock, type Timer } from "../core/routing/clock.js";

/** Errors as the SDK throws them, and those of sockets behind it. */
interface Thrown {
  readonly name?: string;
  readonly message?: string;
  readonly code?: unknown;
  readonly $metadata?: { readonly httpStatusCode?: number };
  readonly $response?: { readonly headers?: Readonly<Record<string, string>> };
}

/** A request that the store refused, or that did not reach it. Has no key, no address and no stack. */
export class BucketError extends Refusal {
  override readonly name = "BucketError";
  readonly code: string | undefined;
  /** Whether it may work later as it is: nobody has to change the configuration, or the bucket. */
  readonly passing: boolean;
  /** The trouble without words that are others each time, such as a request's id. */
  readonly kind: string;

  constructor(thrown: unknown) {
    const { name, message = "", code, $metadata, $response } = Object(thrown) as Thrown;
    const status = $metadata?.httpStatusCode;
    const region = $response?.headers?.["x-amz-bucket-region"];
    // Answers to HEAD have no body, and the SDK no name for them.
    const told = !name || /^Unknown/.test(name) || name === message ? [] : [`${name}: ${message}`];
    const moved = status === 301 || status === 307 || status === 400;
    const elsewhere = moved && region ? [`media.s3.region should be ${region}`] : [];
    super(
      name === "TimeoutError"
        ? "no answer in time"
        : status === undefined
          ? message || "no answer"
          : [`status ${status}`, ...told, ...elsewhere].join(", "),
    );
    this.code = typeof code === "string" ? code : undefined;
    this.passing = status === undefined || status >= 500 || status === 429;
    this.kind = `${status ?? this.code} ${name}`;
  }
}

/** How long it is left alone while nobody asks it for anything, milliseconds; doubles up to the second. */
const pauses = { first: 1000, longest: 30_000 };

/** How often the log hears that it goes away, milliseconds: one that fails every other request would fill it. */
const calmMs = 60_000;

/**
 * Whether a bucket does what is asked of it, as of what was asked last. Where it may be back without
 * anybody's doing, it is asked now and then. Says in the log when that changes, or the trouble does.
 */
export class BucketWatch {
  readonly #log: Logger;
  readonly #probe: () => Promise<unknown>;
  readonly #clock: Clock;
  #away = false;
  #outages = 0;
  /** The trouble that the log heard of; absent: none since it was there. */
  #told: string | undefined;
  #toldAt = Number.NEGATIVE_INFINITY;
  #pauseMs = pauses.first;
  #timer: Timer | undefined;
  #closed = false;

  /** @param probe asks something small */
  constructor(log: Logger, probe: () => Promise<unknown>, clock: Clock = systemClock) {
    this.#log = log;
    this.#probe = probe;
    this.#clock = clock;
  }

  get away(): boolean {
    return this.#away;
  }

  /** How often it went away. */
  get outages(): number {
    return this.#outages;
  }

  /** What `work` answers. @throws BucketError; what was given up here as it is */
  async ask<T>(work: () => Promise<T>): Promise<T> {
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
    if (thrown instanceof Error && thrown.name === "AbortError") return thrown;
    const error = new BucketError(thrown);
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

  #tell(error: BucketError): void {
    const now = this.#clock.now();
    if (this.#told === error.kind || now - this.#toldAt < calmMs) return;
    this.#told = error.kind;
    this.#toldAt = now;
    this.#log.warn({ store: "images", reason: reasonOf(error) }, "the bucket of images is away");
  }

  #askLater(): Timer {
    const wait = this.#pauseMs;
    this.#pauseMs = Math.min(2 * wait, pauses.longest);
    return this.#clock.after(wait, () => {
      this.#timer = undefined;
      this.#probe().then(
        () => this.#answered(),
        // Others may have been answered meanwhile.
        (thrown) => void (this.#away && this.failed(thrown)),
      );
    });
  }

  #answered(): void {
    if (!this.#away) return;
    this.#away = false;
    this.#timer?.cancel();
    this.#timer = undefined;
    if (this.#told === undefined) return;
    this.#told = undefined;
    this.#log.info({ store: "images" }, "the bucket of images is back");
  }
}
