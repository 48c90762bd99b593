/** What is wrong with a bucket, in words. */
import { textOfBody } from "../backends/http/error-body.js";
import { Refusal } from "../core/log.js";
import { mayWantTls, wasClosed } from "../core/tls-errors.js";
import type { Trouble } from "./watch.js";

/** Letters of an answer that are told which is none of a store. */
const mostLetters = 300;

/** The words that it begins with, without the tags of a page. */
const beginningOf = (body: string): string =>
  textOfBody(body)
    .replace(/<[^>]*>/g, " ")
    .replace(/\s+/g, " ")
    .trim()
    .slice(0, mostLetters);

/** Errors as the SDK throws them, and those of sockets behind it. */
interface Thrown {
  readonly name?: string;
  readonly message?: string;
  readonly code?: unknown;
  readonly $metadata?: { readonly httpStatusCode?: number };
  readonly $response?: { readonly headers?: Readonly<Record<string, string>>; body?: unknown };
}

/** What the store says, in no words or one text of them. */
function toldBy(thrown: unknown): readonly string[] {
  const { name, message, $response } = Object(thrown) as Thrown;
  // Answers to HEAD have no body, and the SDK no name for them.
  if (!name || /^Unknown/.test(name) || name === message) return [];
  const { body } = $response ?? {};
  // Of what is no XML it tells how to find it.
  const none = name === "Error" && typeof body === "string";
  return [none ? `no XML: ${beginningOf(body)}` : `${name}: ${message}`];
}

/** A request that the store refused, or that did not reach it. Has no key, no address and no stack. */
export class BucketError extends Refusal implements Trouble {
  override readonly name = "BucketError";
  readonly code: string | undefined;
  readonly passing: boolean;
  readonly kind: string;
  /** What to do about it, where nothing else tells. */
  readonly remedy: string | undefined;

  /** @param clear whether a store that has not answered yet is asked with no TLS */
  constructor(thrown: unknown, clear = false) {
    const { name, message = "", code, $metadata, $response } = Object(thrown) as Thrown;
    const status = $metadata?.httpStatusCode;
    const region = $response?.headers?.["x-amz-bucket-region"];
    const ended = wasClosed(thrown);
    const moved = status === 301 || status === 307 || status === 400;
    const elsewhere = moved && region ? [`media.s3.region should be ${region}`] : [];
    super(
      // The SDK calls so what ends a connection, too.
      name === "TimeoutError" && !ended
        ? "no answer in time"
        : status === undefined
          ? message || "no answer"
          : [`status ${status}`, ...toldBy(thrown), ...elsewhere].join(", "),
    );
    this.code = typeof code === "string" ? code : undefined;
    this.remedy = clear && ended ? mayWantTls : undefined;
    this.passing = status === undefined || status >= 500 || status === 429;
    this.kind = `${status ?? this.code} ${name}`;
  }
}
