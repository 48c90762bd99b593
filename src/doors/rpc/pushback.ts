/** When clients of gRPC that try again by themselves, by a retry policy, are to do so. */
import type { ConnectError, HandlerContext } from "@connectrpc/connect";
import { toConnectError } from "../../core/connect-error.js";
import type { ErrorCode } from "../../core/error-table.js";
import type { LintelError } from "../../core/errors.js";

/** What passes; not `shutting_down`: another connection leads to who takes the call at once. */
const passing: ReadonlySet<ErrorCode> = new Set([
  "rate_limited",
  "unavailable",
  "model_not_loaded",
  "overloaded",
]);

/** Longest wait that is asked for, that of a limit per minute: who has no deadline would wait for days. */
const longestMs = 61_000;

/**
 * The error as callers see it by gRPC. Their libraries wait for as long as `grpc-retry-pushback-ms` says,
 * and read no `RetryInfo`: by their own pauses all attempts are used up before one can work.
 * @param leftMs until the call's deadline; absent: it has none
 */
export function toGrpcError(error: LintelError, leftMs = Number.POSITIVE_INFINITY): ConnectError {
  const told = toConnectError(error);
  const pushback = pushbackOf(error, leftMs);
  if (pushback !== undefined) told.metadata.set("grpc-retry-pushback-ms", `${pushback}`);
  return told;
}

/** The error in the words of the call's protocol. */
export const toldBy = (
  { protocolName, timeoutMs }: HandlerContext,
  error: LintelError,
): ConnectError =>
  protocolName === "grpc" ? toGrpcError(error, timeoutMs()) : toConnectError(error);

/** Milliseconds; below zero: not at all; none: as the client likes. */
function pushbackOf({ code, retryAfter }: LintelError, leftMs: number): number | undefined {
  if (retryAfter === undefined || !passing.has(code)) return undefined;
  const ms = Math.ceil(retryAfter * 1000);
  // A client whose deadline passes while it waits would be told of nothing but that.
  if (ms <= longestMs && ms < leftMs) return ms;
  // Limits are the same at all gateways; of model servers another one may reach what this one can't.
  return code === "rate_limited" ? -1 : undefined;
}
