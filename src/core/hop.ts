/** What the errors of another Lintel mean to this one's callers. */
import { type ErrorCode, errorTable } from "./errors.js";

/** Whether a text is a code of ours. */
export function isErrorCode(reason: string): reason is ErrorCode {
  return Object.hasOwn(errorTable, reason);
}

/** What a code of another Lintel means to our caller. */
export function acrossHop(code: ErrorCode): ErrorCode {
  switch (code) {
    case "invalid_token":
    case "model_not_allowed":
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
