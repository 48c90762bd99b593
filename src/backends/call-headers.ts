/** Headers that a request to a model server has for the call that it is made for. */
import type { Call } from "../core/call.js";
import { traceHeaders } from "../core/telemetry.js";

/** Its place in a trace, and what its caller says that the backend is to be told (`pass_headers`); absent: neither. */
export function callHeaders(
  call: Pick<Call, "trace" | "passed">,
): Record<string, string> | undefined {
  const place = traceHeaders(call);
  return call.passed ? Object.assign(Object.fromEntries(call.passed), place) : place;
}
