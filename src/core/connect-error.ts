/**
 * Errors on the wire of gRPC, gRPC-Web and Connect, both ways. The details say
 * enough that a Lintel in front of another one gives its caller the same error.
 */
import { Code, ConnectError } from "@connectrpc/connect";
import {
  BadRequestSchema,
  ErrorInfoSchema,
  RetryInfoSchema,
} from "../../gen/google/rpc/error_details_pb.js";
import type { ErrorCode } from "./error-table.js";
import { LintelError, type Violation } from "./errors.js";
import { acrossHop, askedAcrossHop, isErrorCode } from "./hop.js";
import { withoutAddresses } from "./withheld.js";

/** `domain` of the `google.rpc.ErrorInfo` that every error of Lintel carries. */
const errorDomain = "lintel";

/**
 * The error as RPC callers see it, with `google.rpc.ErrorInfo` (`reason` is the
 * code, `metadata.param` the field at fault), `BadRequest` where fields are at
 * fault, and `RetryInfo` where a later try may work.
 */
export function toConnectError(error: LintelError): ConnectError {
  const info = {
    reason: error.code,
    domain: errorDomain,
    metadata: error.param === undefined ? {} : { param: error.param },
  };
  const result = new ConnectError(error.message, error.grpc, undefined, [
    { desc: ErrorInfoSchema, value: info },
  ]);
  if (error.violations.length > 0) {
    const fieldViolations = error.violations.map(({ field, message }) => ({
      field,
      description: message,
    }));
    result.details.push({ desc: BadRequestSchema, value: { fieldViolations } });
  }
  if (error.retryAfter !== undefined) {
    const seconds = Math.floor(error.retryAfter);
    const nanos = Math.round((error.retryAfter - seconds) * 1e9);
    result.details.push({
      desc: RetryInfoSchema,
      value: { retryDelay: { seconds: BigInt(seconds), nanos } },
    });
  }
  return result;
}

/**
 * The error for what a model server that speaks the contract answered, or for
 * what kept it from answering. Another Lintel's errors come back as they were,
 * but for those about the hop between: that our token was refused or that it
 * is about to leave is not the caller's business.
 */
export function fromConnectError(thrown: unknown): LintelError {
  if (thrown instanceof LintelError) return thrown;
  const error = ConnectError.from(thrown);
  const info = error.findDetails(ErrorInfoSchema).find((i) => i.domain === errorDomain);
  const code = info && isErrorCode(info.reason) ? acrossHop(info.reason) : fromCode(error);
  const own = info !== undefined && code === info.reason;

  const violations: Violation[] = error
    .findDetails(BadRequestSchema)
    .flatMap((b) => b.fieldViolations)
    .map(({ field, description }) => ({ field, message: description }));
  const retryAfter = askedAcrossHop(info?.reason, retryAfterOf(error));
  const param = info?.metadata.param ?? violations[0]?.field;
  const refused = error.code === Code.InvalidArgument || own;
  return new LintelError(code, own ? error.rawMessage : inOurWords(code, error.rawMessage), {
    ...(refused && param !== undefined && { param }),
    ...(refused && { violations }),
    ...(retryAfter !== undefined && { retryAfter }),
    leaving: info?.reason === "shutting_down",
    cause: error,
  });
}

/** The code for an answer without Lintel's details. */
function fromCode(error: ConnectError): ErrorCode {
  switch (error.code) {
    case Code.InvalidArgument:
      return error.findDetails(BadRequestSchema).length > 0 ? "invalid_fields" : "invalid_value";
    case Code.OutOfRange:
    case Code.FailedPrecondition:
      return "invalid_value";
    case Code.NotFound:
      return "model_not_found";
    case Code.ResourceExhausted:
      return "rate_limited";
    case Code.Unavailable:
      return isSystemError(error.cause) ? "upstream_unreachable" : "unavailable";
    case Code.DeadlineExceeded:
      return "timeout";
    case Code.Unimplemented:
      return "unimplemented";
    default:
      return "upstream_failed";
  }
}

/** An error of the operating system, for example ECONNREFUSED: nobody answered. */
function isSystemError(cause: unknown): boolean {
  return cause instanceof Error && "code" in cause && typeof cause.code === "string";
}

function inOurWords(code: ErrorCode, said: string): string {
  switch (code) {
    case "invalid_fields":
    case "invalid_value":
      return said
        ? `the model server refused the request: ${withoutAddresses(said)}`
        : "the model server refused the request";
    case "model_not_found":
      return "the model server does not know the model";
    case "rate_limited":
      return "the model server is at its limit";
    case "unavailable":
      return "the model server can't take the request now";
    case "upstream_unreachable":
      return "the model server can't be reached";
    case "timeout":
      return "the model server took too long";
    case "unimplemented":
      return "the model server can't do this operation";
    default:
      return "the model server failed";
  }
}

/** Seconds. */
function retryAfterOf(error: ConnectError): number | undefined {
  const delay = error.findDetails(RetryInfoSchema)[0]?.retryDelay;
  return delay && Number(delay.seconds) + delay.nanos / 1e9;
}
