/** Request ids: the rule for those that callers bring, and new ones. */
import { randomId } from "./random-id.js";

/** Ids that can stand in a header and a log line. */
export const idPattern = /^[\w.:-]{1,128}$/;

/** The caller's own id if it can be one, else a new one of 16 characters. */
export function requestIdOf(given?: unknown): string {
  return typeof given === "string" && idPattern.test(given) ? given : randomId(12);
}
