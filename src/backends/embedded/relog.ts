/** The child's log becomes part of ours. */
import { isObject, type JsonObject, parseJson } from "../../core/json.js";
import type { Logger } from "../../core/log.js";

/** Levels as numbers, as pino writes them. */
const levels: readonly (readonly [number, keyof Logger])[] = [
  [50, "error"],
  [40, "warn"],
  [30, "info"],
  [0, "debug"],
];

/** Logs a line that the child wrote: JSON by its logger, or text by whatever is inside of it. */
export function relog(line: string, log: Logger): void {
  if (line.trim() === "") return;
  const entry = parse(line);
  if (!entry) {
    log.warn({ node: "embedded", said: line.slice(0, 2000) }, "the embedded models' engine says");
    return;
  }
  const { level, msg, time: _time, hostname: _hostname, ...fields } = entry;
  const [, name] = levels.find(([least]) => Number(level) >= least) ?? [0, "info" as const];
  log[name]({ node: "embedded", ...fields }, String(msg));
}

function parse(line: string): JsonObject | undefined {
  const entry = parseJson(line);
  return isObject(entry) && "msg" in entry && "level" in entry ? entry : undefined;
}
