/** What the errors of another Lintel mean to this one's callers. */
import { defaultRetryAfter, type ErrorCode, errorTable } from "./error-table.js";

/** The header by which a gateway tells its node that images of the same request are made already. */
export const begunHeader = "x-lintel-begun";

/** Whether a text is a code of ours. */
export function isErrorCode(reason: string): reason is ErrorCode {
  return Object.hasOwn(errorTable, reason);
}

/** What a code of another Lintel means to our caller. */
export function acrossHop(code: ErrorCode): ErrorCode {
  switch (code) {
    case "invalid_token":
    case "model_not_allowed":
    case "address_not_allowed":
    case "internal":
    case "cancelled":
    case "request_timeout":
      return "upstream_failed";
    case "shutting_down":
      return "unavailable";
    case "not_found":
    case "method_not_allowed":
      return "unimplemented";
    default:
      return code;
  }
}

/** Those that another Lintel may say of one call, or of one of the servers behind it. */
const ofOneCall: ReadonlySet<unknown> = new Set<ErrorCode>(["rate_limited", "unavailable"]);

/**
 * Seconds for which another Lintel asks to be left alone. Where it says as much as it does when
 * nobody asked it, that is a guess for the caller: it would keep all others from it, too.
 * @param code of its error
 * @param seconds as it says
 */
export function askedAcrossHop(code: unknown, seconds: number | undefined): number | undefined {
  const guess = ofOneCall.has(code) && seconds === defaultRetryAfter[code as ErrorCode];
  return guess ? undefined : seconds;
}
