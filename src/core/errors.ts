/**
 * The one class of errors. What a caller sees of one is `message`, `param` and
 * `violations`; `cause` is for the log only.
 */
import type { Code } from "@connectrpc/connect";
import {
  defaultRetryAfter,
  type ErrorCode,
  errorTable,
  type Retry,
  retryOf,
} from "./error-table.js";
import { bounded, inWords, shortened } from "./violations.js";

/** What is wrong with one field. */
export interface Violation {
  /** Path of the field by the contract's names, for example `messages[0].role`. */
  readonly field: string;
  /** What is allowed, without the field's name: `must be at most 2`. */
  readonly message: string;
  /** The first item of a list that was not looked at, where that is what is said. */
  readonly from?: number;
}

/** More about an error. */
export interface ErrorOptions {
  /** The field at fault. */
  readonly param?: string;
  /** Every field at fault, for `invalid_fields`; the first 2000 bytes of them are kept. */
  readonly violations?: readonly Violation[];
  /** Seconds after which it may work; at most a year is kept. */
  readonly retryAfter?: number;
  /** Default: by the code, whether `rate_limited` names a field, and whether the message tells of an overflow. */
  readonly retry?: Retry;
  /** Whether the model server said that it is about to leave: another may be in its place at any time. */
  readonly leaving?: boolean;
  /** Bare HTTP detail: what `Allow` says on 405. */
  readonly allow?: string;
  /** The error behind it; logged, never shown. */
  readonly cause?: unknown;
}

/**
 * OpenAI's word for a conversation that is longer than its model holds. Clients look for it in messages,
 * to try a shorter one; another target may hold more.
 */
export const overflow = "context_length_exceeded";

/** Whether a message says so. */
export const tellsOverflow = (message: string): boolean => message.includes(overflow);

/** Whether an error is that: other messages may quote a caller who wrote the word. */
export const isOverflow = ({ code, message }: Pick<LintelError, "code" | "message">): boolean =>
  code === "invalid_value" && tellsOverflow(message);

/** The one error class: what steps and backends throw and doors encode. */
export class LintelError extends Error {
  override readonly name = "LintelError";
  readonly code: ErrorCode;
  readonly param: string | undefined;
  readonly violations: readonly Violation[];
  /** Seconds after which it may work: what was said, or a default where the status needs one. */
  readonly retryAfter: number | undefined;
  /** Seconds after which it may work, where somebody said so. */
  readonly askedDelay: number | undefined;
  readonly retry: Retry;
  /** Whether the model server said that it is about to leave. */
  readonly leaving: boolean;
  readonly allow: string | undefined;

  /**
   * @param code which row of the table
   * @param message for the caller: no address, no key, no stack; cut after 1000 bytes
   */
  constructor(code: ErrorCode, message: string, options: ErrorOptions = {}) {
    super(
      shortened(message, 1000),
      options.cause === undefined ? undefined : { cause: options.cause },
    );
    this.code = code;
    this.param = options.param === undefined ? undefined : shortened(options.param, 200);
    this.violations = bounded(options.violations ?? []);
    this.askedDelay = options.retryAfter && Math.min(options.retryAfter, year);
    this.retryAfter = this.askedDelay ?? defaultRetryAfter[code];
    const tooLarge = (code === "rate_limited" && this.param !== undefined) || isOverflow(this);
    this.retry = options.retry ?? (tooLarge ? "elsewhere" : retryOf[code]) ?? "never";
    this.leaving = options.leaving ?? false;
    this.allow = options.allow;
  }

  /** HTTP status. */
  get http(): number {
    return errorTable[this.code].http;
  }

  /** gRPC and Connect code. */
  get grpc(): Code {
    return errorTable[this.code].grpc;
  }

  /** `error.type` in JSON. */
  get type(): string {
    return errorTable[this.code].type;
  }
}

/** Seconds. What a model server asks for may be more than protobuf and HTTP have numbers for. */
const year = 31_536_000;

/**
 * An error that names every field at fault, as far as there is room for them.
 * @param retry default: never
 */
export function invalidFields(violations: readonly Violation[], retry?: Retry): LintelError {
  return new LintelError("invalid_fields", inWords(violations), {
    violations,
    ...(retry && { retry }),
    ...(violations[0] && { param: violations[0].field }),
  });
}

/** What is wrong with fields, where anything is. */
export const invalidIn = (violations: readonly Violation[]): LintelError | undefined =>
  violations.length > 0 ? invalidFields(violations) : undefined;

/** The same error about a field, or about another one, or in other words. @param message default: the same */
export function aboutField(
  { code, message: said, retry, askedDelay, leaving, allow, cause }: LintelError,
  param: string | undefined,
  message = said,
): LintelError {
  return new LintelError(code, message, {
    ...{ retry, leaving, cause },
    ...(param !== undefined && { param }),
    ...(askedDelay !== undefined && { retryAfter: askedDelay }),
    ...(allow !== undefined && { allow }),
  });
}

/** A value of one field that can't be served. */
export function invalidValue(param: string, message: string): LintelError {
  return new LintelError("invalid_value", `${param}: ${message}`, { param });
}

/** A parameter that can't be served as it is. @param why Default: the model does not support it */
export function unsupported(param: string, why = "this model does not support it"): LintelError {
  return new LintelError("unsupported_parameter", `${param}: ${why}`, { param });
}

/** Nobody waits for the answer any more. */
export const callerLeft = () => new LintelError("cancelled", "the caller left");

/** This process is about to leave. */
export const shuttingDown = () => new LintelError("shutting_down", "this gateway is shutting down");

/** The error for a model that is not there. @param param what named it */
export function noModel(name: string, param: string): LintelError {
  const message = `there is no model ${JSON.stringify(name.slice(0, 200))}`;
  return new LintelError("model_not_found", message, { param });
}

/**
 * Makes a `LintelError` of whatever was thrown. A thing that nobody foresaw
 * becomes `internal`, and its own words stay in `cause`.
 */
export function toLintelError(thrown: unknown): LintelError {
  if (thrown instanceof LintelError) return thrown;
  return new LintelError("internal", "internal error", { cause: thrown });
}
