/** The process's log: JSON lines on stderr. */
import { format } from "node:util";
import pino from "pino";
import { LintelError } from "../core/errors.js";
import { inShort, type Logger, type LogLevel, Refusal, reasonOf } from "../core/log.js";
import { withoutSecrets } from "../core/secrets.js";
import { withoutTokens } from "../core/tokens.js";
import { LogWriter } from "./log-writer.js";

/**
 * Makes the logger. No line of it shows a key of the configuration, or a token, nor all that a model
 * server said (`said`), which may be a prompt a megabyte long. What is left is written when
 * the process ends; a log that can't be written holds up nothing.
 * @param base stands in each line
 */
export function createLogger(level: LogLevel, writer = logWriter(), base?: object) {
  const serializers = { said: (words: unknown) => inShort(String(words)), err: inWords };
  const hooks = { streamWrite: (line: string) => withoutTokens(withoutSecrets(line)) };
  const log = pino({ level, base, serializers, hooks }, writer);
  takeWarnings(log);
  return log;
}

/**
 * An error in the log: with its stack where it may be a fault of our own, or of a library; what a
 * system or a model server refuses, the words say better.
 */
function inWords(error: unknown): unknown {
  if (!(error instanceof Error)) return error;
  const { name, code } = error as Error & { readonly code?: unknown };
  const foreseen =
    error instanceof LintelError
      ? code !== "internal" || error.cause instanceof Refusal
      : error instanceof Refusal || "syscall" in error;
  if (!foreseen) return pino.stdSerializers.err(error);
  return { type: name, code, message: inShort(reasonOf(error)) };
}

/** Most different texts of libraries that are kept in mind. */
const mostSaid = 100;

/**
 * Has warnings of Node and of libraries in the log, whose readers expect JSON and nothing else. What
 * libraries write to the console, some with each connection, is said once.
 */
function takeWarnings(log: Logger): void {
  // Without Node's own listener they are switched off.
  if (process.listenerCount("warning") === 0) return;
  process.removeAllListeners("warning");
  process.on("warning", ({ name, message }) => {
    log.warn({ warning: name, said: message }, "Node or a library warns");
  });
  const known = new Set<string>();
  const say = (...words: unknown[]) => {
    const said = format(...words);
    if (known.has(said)) return;
    if (known.size >= mostSaid) known.clear();
    known.add(said);
    log.warn({ said }, "Node or a library warns");
  };
  console.warn = say;
  console.error = say;
}

/** Has what may be a mistake in the configuration in the log. */
export function logWarnings(log: Logger, warnings: readonly string[]): void {
  for (const problem of warnings)
    log.warn({ problem }, "this may be a mistake in the configuration");
}

/** Writes to stderr what the log has; one for each process. */
export function logWriter(): LogWriter {
  const writer = new LogWriter(process.stderr, someLost);
  process.on("exit", () => writer.end());
  return writer;
}

/** Said whatever the level is. */
function someLost(lost: number): string {
  const msg = "lines of the log are lost here: it could not be written";
  return `${JSON.stringify({ level: 40, time: Date.now(), lost, msg })}\n`;
}
