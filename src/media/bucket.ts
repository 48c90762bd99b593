/** What is wrong with a bucket, in words, and since when. */
import { type Logger, Refusal, reasonOf } from "../core/log.js";

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
  }
}

/** Whether a bucket does what is asked of it, as of what was asked last. Says in the log when that changes. */
export class BucketWatch {
  readonly #log: Logger;
  #away = false;
  #outages = 0;

  constructor(log: Logger) {
    this.#log = log;
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
    if (this.#away) return error;
    this.#away = true;
    this.#outages++;
    this.#log.warn({ store: "images", reason: reasonOf(error) }, "the bucket of images is away");
    return error;
  }

  #answered(): void {
    if (!this.#away) return;
    this.#away = false;
    this.#log.info({ store: "images" }, "the bucket of images is back");
  }
}
