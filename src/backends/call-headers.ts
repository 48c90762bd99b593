/** Headers that a request to a model server has for the call that it is made for. */
import type { Call } from "../core/call.js";
import { traceHeaders } from "../core/telemetry.js";

/** Its place in a trace, and what its caller says that the backend is to be told (`pass_headers`); absent: neither. */
export function callHeaders({
  trace,
  passed,
}: Pick<Call, "trace" | "passed">): Record<string, string> | undefined {
  const place = traceHeaders({ trace });
  return passed ? Object.assign(Object.fromEntries(passed), place) : place;
}
