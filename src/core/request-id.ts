/** Request ids: the rule for those that callers bring, and new ones. */
import { randomId } from "./random-id.js";

/** The caller's own id if it can stand in a header and a log line, else a new one of 16 characters. */
export function requestIdOf(given?: unknown): string {
  return typeof given === "string" && /^[\w.:-]{1,128}$/.test(given) ? given : randomId(12);
}
