/** The protocols' own deadlines, where the RPC library would answer before authentication. */
import { invalidValue, LintelError } from "../../core/errors.js";
import { longestTimerMs } from "../../core/timers.js";
import { timeoutIn } from "./edge/request.js";
import { typeOf } from "./frames.js";

/** A deadline that Node's timers can't count would pass at once. It is as good as none. */
export function dropEndlessTimeout(header: Headers): void {
  if (grpcTimeout(header) === undefined) header.delete("grpc-timeout");
  const timeout = header.get("connect-timeout-ms");
  if (timeout !== null && isMs.test(timeout) && Number(timeout) > longestTimerMs)
    header.delete("connect-timeout-ms");
}

/**
 * Takes the protocol's deadline out of the header if it can't be read.
 * @returns what is wrong with it
 */
export function takeBrokenTimeout(header: Headers): LintelError | undefined {
  const isGrpc = /^application\/grpc/i.test(typeOf(header));
  const defect = isGrpc ? grpcTimeout(header) : connectDefect(header);
  if (!(defect instanceof LintelError)) return undefined;
  header.delete(isGrpc ? "grpc-timeout" : "connect-timeout-ms");
  return defect;
}

const isMs = /^\d{1,10}$/;

const grpcTimeout = (header: Headers) =>
  timeoutIn({ "grpc-timeout": header.get("grpc-timeout") ?? undefined });

function connectDefect(header: Headers): LintelError | undefined {
  const timeout = header.get("connect-timeout-ms");
  if (timeout === null || isMs.test(timeout)) return undefined;
  return invalidValue("connect-timeout-ms", "must be milliseconds in up to 10 digits");
}
