/** Why completions end. */

/** Reasons that callers may see; whatever else a model server says becomes `stop`. */
export const finishReasons: ReadonlySet<string> = new Set([
  "stop",
  "length",
  "content_filter",
  "tool_calls",
]);

/** Google's servers say `stop` of a stream that calls tools, and clients go by the reason. */
export function finishReasonOf(said: string, calls: boolean): string {
  const reason = finishReasons.has(said) ? said : "stop";
  return calls && reason === "stop" ? "tool_calls" : reason;
}

/** Whether an answer ends in the middle. */
export const isCut = (reason: string): boolean =>
  reason === "length" || reason === "content_filter";
