/** What is wrong with a bucket, in words. */
import { Refusal } from "../core/log.js";
import type { Trouble } from "./watch.js";

/** Errors as the SDK throws them, and those of sockets behind it. */
interface Thrown {
  readonly name?: string;
  readonly message?: string;
  readonly code?: unknown;
  readonly $metadata?: { readonly httpStatusCode?: number };
  readonly $response?: { readonly headers?: Readonly<Record<string, string>> };
}

/** A request that the store refused, or that did not reach it. Has no key, no address and no stack. */
export class BucketError extends Refusal implements Trouble {
  override readonly name = "BucketError";
  readonly code: string | undefined;
  readonly passing: boolean;
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
