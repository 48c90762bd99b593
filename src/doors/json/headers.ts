/** Headers that tell of a call. */
import type { Running } from "../../core/gateway.js";
import type { MethodName } from "../../core/methods.js";

/** Most characters of `x-lintel-warnings`: clients limit the size of headers. */
const warningsLimit = 2000;

/**
 * Tells the headers that answers and errors of every form have.
 * @param notes warnings of the door itself
 */
export function eachHeader(
  running: Running<MethodName>,
  notes: readonly string[],
  tell: (name: string, value: string) => void,
): void {
  tell("x-request-id", running.id);
  const warnings = [...notes, ...running.warnings];
  if (warnings.length > 0) tell("x-lintel-warnings", headerText(warnings.join("; ")));
  for (const [name, value] of running.metadata) tell(name, value);
}

/** The same, as an object. */
export function headersOf(
  running: Running<MethodName>,
  notes: readonly string[] = [],
): Record<string, string> {
  const headers: Record<string, string> = {};
  eachHeader(running, notes, (name, value) => {
    headers[name] = value;
  });
  return headers;
}

/** Text as a header may carry it: printable ASCII, with no blank at its ends, which HTTP/2 takes for no header at all. */
function headerText(text: string): string {
  return text
    .replace(/[^\x20-\x7e]/g, "?")
    .slice(0, warningsLimit)
    .trim();
}
