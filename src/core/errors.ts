/**
 * The one set of errors, and the one table to and from every protocol.
 * What a caller sees of an error is `message`, `param` and `violations`;
 * `cause` is for the log only.
 */
import { Code } from "@connectrpc/connect";
import { bounded, inWords, shortened } from "./violations.js";

/** A row of the table. */
interface Row {
  /** HTTP status. */
  readonly http: number;
  /** gRPC and Connect code. */
  readonly grpc: Code;
  /** `error.type` in JSON, as OpenAI's clients know it. */
  readonly type: string;
}

const row = (http: number, grpc: Code, type: string): Row => ({ http, grpc, type });

/** Everything that can go wrong, by the code that callers see. */
export const errorTable = {
  /** The body is not JSON, or not an object. */
  invalid_json: row(400, Code.InvalidArgument, "invalid_request_error"),
  /** Fields of the wrong type, out of bounds or missing. */
  invalid_fields: row(422, Code.InvalidArgument, "invalid_request_error"),
  /** A value that can't be served. */
  invalid_value: row(400, Code.InvalidArgument, "invalid_request_error"),
  /** A parameter that the model does not support and that changes the result. */
  unsupported_parameter: row(400, Code.InvalidArgument, "invalid_request_error"),
  /** The safety check found an image harmful, and the operator blocks those; or the model server the prompt. */
  content_blocked: row(400, Code.FailedPrecondition, "invalid_request_error"),
  /** No token, or one that is not known. */
  invalid_token: row(401, Code.Unauthenticated, "authentication_error"),
  /** A token that may not use this model. */
  model_not_allowed: row(403, Code.PermissionDenied, "permission_error"),
  /** No such model. */
  model_not_found: row(404, Code.NotFound, "invalid_request_error"),
  /** No token of this name or id that counts; of administration. */
  token_not_found: row(404, Code.NotFound, "invalid_request_error"),
  /** No such path. */
  not_found: row(404, Code.Unimplemented, "invalid_request_error"),
  /** The path exists, not with this method. */
  method_not_allowed: row(405, Code.Unimplemented, "invalid_request_error"),
  /** The client was too slow to send its request. */
  request_timeout: row(408, Code.DeadlineExceeded, "invalid_request_error"),
  /** The name is taken; of administration. */
  already_exists: row(409, Code.AlreadyExists, "invalid_request_error"),
  /** What is asked about is in a state in which that can't be done; of administration. */
  failed_precondition: row(400, Code.FailedPrecondition, "invalid_request_error"),
  /** Somebody else changed the same at the same time; of administration. */
  aborted: row(409, Code.Aborted, "invalid_request_error"),
  /** The body is larger than allowed. */
  too_large: row(413, Code.ResourceExhausted, "invalid_request_error"),
  /** The body has a media type that is not understood. */
  unsupported_media_type: row(415, Code.InvalidArgument, "invalid_request_error"),
  /** The range that was asked for lies outside of the image. */
  range_not_satisfiable: row(416, Code.OutOfRange, "invalid_request_error"),
  /** A limit of this gateway or of the model server was reached; with a `param`, only by so large a request. */
  rate_limited: row(429, Code.ResourceExhausted, "rate_limit_error"),
  /** The caller left. Nobody reads the status. */
  cancelled: row(499, Code.Canceled, "cancelled"),
  /** A fault in Lintel itself. */
  internal: row(500, Code.Internal, "server_error"),
  /** The backend can't do this operation at all. */
  unimplemented: row(501, Code.Unimplemented, "server_error"),
  /** The model server failed, or answered nonsense. */
  upstream_failed: row(502, Code.Internal, "upstream_error"),
  /** The model server can't be reached. */
  upstream_unreachable: row(502, Code.Unavailable, "upstream_error"),
  /** No model server can take the call now. */
  unavailable: row(503, Code.Unavailable, "unavailable_error"),
  /** The model can't be loaded where it is; the message says why. Its server is well. */
  model_not_loaded: row(503, Code.Unavailable, "unavailable_error"),
  /** As many calls wait for the model as may, its LoRAs have no room now, or the gateway can open no more connections. */
  overloaded: row(503, Code.Unavailable, "unavailable_error"),
  /** This process is about to leave. */
  shutting_down: row(503, Code.Unavailable, "unavailable_error"),
  /** The model server took too long, or the caller's deadline passed. */
  timeout: row(504, Code.DeadlineExceeded, "timeout_error"),
} as const satisfies Record<string, Row>;

/** Code of an error, as callers see it. */
export type ErrorCode = keyof typeof errorTable;

/**
 * What may be done about a failure that came before the first message: ask any
 * target again, ask another one since this one can't, or nothing, because it
 * would fail again or may have had an effect.
 */
export type Retry = "anywhere" | "elsewhere" | "never";

/** For those that don't say it themselves; all others never. */
const retryOf: { readonly [C in ErrorCode]?: Retry } = {
  upstream_unreachable: "anywhere",
  unavailable: "anywhere",
  shutting_down: "anywhere",
  rate_limited: "anywhere",
  timeout: "anywhere",
  overloaded: "elsewhere",
  unimplemented: "elsewhere",
  model_not_loaded: "elsewhere",
  unsupported_parameter: "elsewhere",
  model_not_found: "elsewhere",
};

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

/** Statuses that need `Retry-After` get one, also where nobody said when. */
export const defaultRetryAfter: { readonly [C in ErrorCode]?: number } = {
  rate_limited: 1,
  unavailable: 1,
  // A call that comes then loads it anew.
  model_not_loaded: 10,
  overloaded: 1,
  shutting_down: 5,
};

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
