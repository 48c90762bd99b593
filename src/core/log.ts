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

/** Most errors of a chain that are told. */
const longestChain = 8;

/** Codes of systems and libraries, such as `ECONNREFUSED`: log lines have our own in a field, and a proxy's error says all in words. */
const systemCode = /^(?!ERR_PROXY_)[A-Z][A-Z\d_]+$/;

/** Why something failed, in words for the log: with those of its causes, and codes that they don't have in them. */
export function reasonOf(error: unknown): string {
  const told: string[] = [];
  for (let next = error, left = longestChain; next != null && left > 0; left--) {
    // A name with several addresses fails with one error for each, and no words of its own.
    const one: unknown = next instanceof AggregateError ? (next.errors[0] ?? next) : next;
    // Some errors have their cause's words in their own.
    const said = one instanceof Error && one.message !== "" && told.at(-1)?.includes(one.message);
    if (!said) told.push(one instanceof Error ? wordsOf(one) : String(one));
    next = one instanceof Error ? one.cause : undefined;
  }
  return told.join(": ");
}

function wordsOf({ message, name, code }: Error & { readonly code?: unknown }): string {
  const words = message || name;
  const says = typeof code === "string" && systemCode.test(code) && !words.includes(code);
  return says ? `${words} (${code})` : words;
}
