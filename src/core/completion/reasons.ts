/** Why completions end. */

/** Reasons that callers may see. */
export const finishReasons: readonly string[] = ["stop", "length", "content_filter", "tool_calls"];

/**
 * The reason as callers get it: `stop` for whatever a model server says else. Clients go by it, and some servers say
 * `stop` of a stream that calls tools (Google's), or `tool_calls` of an answer without a call: those that run tools wait
 * for one then, or take no text for an answer.
 * @param calls whether the answer calls tools
 */
export function finishReasonOf(said: string, calls: boolean): string {
  if (isCut(said)) return said;
  return calls ? "tool_calls" : "stop";
}

/** Whether an answer ends in the middle. */
export const isCut = (reason: string): boolean =>
  reason === "length" || reason === "content_filter";
