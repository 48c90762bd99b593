/** What the core needs of a logger; pino has this shape. */
export interface Logger {
  debug(fields: object, message: string): void;
  info(fields: object, message: string): void;
  warn(fields: object, message: string): void;
  error(fields: object, message: string): void;
}

/** Least severities that a log can be told to have, as pino names them. */
export const logLevels = ["trace", "debug", "info", "warn", "error", "fatal", "silent"] as const;

/** One of them. */
export type LogLevel = (typeof logLevels)[number];

/** A logger that says nothing. */
export const silent: Logger = { debug() {}, info() {}, warn() {}, error() {} };

/** Letters of others' words that are logged: a model server may have answered a megabyte. */
const longest = 4000;

/** Others' words for the log, no longer than that. */
export const inShort = (words: string): string =>
  words.length > longest ? `${words.slice(0, longest)}…` : words;

/** Why something failed, in words for the log: with its cause's where there is one. */
export function reasonOf(error: unknown): string {
  const { message, cause } = error as Error;
  // A name with several addresses fails with one error for each, and no words of its own.
  const [why] = cause instanceof AggregateError ? cause.errors : [cause];
  return why instanceof Error ? `${message}: ${why.message}` : message;
}
