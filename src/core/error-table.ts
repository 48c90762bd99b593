/** The one set of errors, and the one table of what each is in every protocol. */
import { Code } from "@connectrpc/connect";

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
  /** A token that may not be used from where the call comes. */
  address_not_allowed: row(403, Code.PermissionDenied, "permission_error"),
  /** A caller who may make no tokens. */
  tokens_not_allowed: row(403, Code.PermissionDenied, "permission_error"),
  /** No such model. */
  model_not_found: row(404, Code.NotFound, "invalid_request_error"),
  /** No token of this name or id that counts; of administration, and of callers' own tokens. */
  token_not_found: row(404, Code.NotFound, "invalid_request_error"),
  /** No such path. */
  not_found: row(404, Code.Unimplemented, "invalid_request_error"),
  /** The path exists, not with this method. */
  method_not_allowed: row(405, Code.Unimplemented, "invalid_request_error"),
  /** The client was too slow to send its request. */
  request_timeout: row(408, Code.DeadlineExceeded, "invalid_request_error"),
  /** The name is taken; of administration, and of callers' own tokens. */
  already_exists: row(409, Code.AlreadyExists, "invalid_request_error"),
  /** What is asked about is in a state in which that can't be done; of administration, and of callers' own tokens. */
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
 * target again, ask another one since this one can't, ask another one though the request
 * may be why this one failed, or nothing, because it would fail again or may have had an effect.
 */
export type Retry = "anywhere" | "elsewhere" | "doubtful" | "never";

/** For those that don't say it themselves; all others never. */
export const retryOf: { readonly [C in ErrorCode]?: Retry } = {
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

/** Statuses that need `Retry-After` get one, also where nobody said when. */
export const defaultRetryAfter: { readonly [C in ErrorCode]?: number } = {
  rate_limited: 1,
  unavailable: 1,
  // A call that comes then loads it anew.
  model_not_loaded: 10,
  overloaded: 1,
  shutting_down: 5,
};
