import { hintOf } from "./tls-errors.js";

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

/** What another system refuses, or can't do: its words tell why, where a stack tells nothing. */
export class Refusal extends Error {
  override readonly name: string = "Refusal";
}

/** Letters of others' words that are logged: a model server may have answered a megabyte. */
const longest = 4000;

/** Others' words for the log, no longer than that. */
export const inShort = (words: string): string =>
  words.length > longest ? `${words.slice(0, longest)}…` : words;

/** Most errors of a chain that are told. */
const longestChain = 8;

/** Codes of systems and libraries, such as `ECONNREFUSED`: log lines have our own in a field. */
const systemCode = /^[A-Z][A-Z\d_]+$/;

/**
 * Why something failed, in words for the log: with those of its causes, and codes
 * that they don't have in them; and with what to do, where a certificate is not trusted or no TLS is spoken.
 */
export function reasonOf(error: unknown): string {
  const told: string[] = [];
  let remedy: string | undefined;
  for (let next = error, n = 0; next != null && n < longestChain; n++) {
    // A name with several addresses fails with one error for each, and no words of its own.
    const one: unknown = next instanceof AggregateError ? (next.errors[0] ?? next) : next;
    const words = withoutPlaces(one instanceof Error ? one.message || one.name : inWords(one));
    // Some errors have their cause's words in their own.
    if (!told.at(-1)?.includes(words)) told.push(withCode(words, one));
    remedy ??= hintOf(one);
    next = one instanceof Error ? one.cause : undefined;
  }
  const reason = told.join(": ");
  return remedy === undefined ? reason : `${reason}; ${remedy}`;
}

/** An error of OpenSSL, which has a thread, a number and places in its source around the reason. */
const ofOpenssl = /[\dA-F]+:error:[\dA-F]+:[^:]*:[^:]*:([^:]*):(?:[a-z]:)?[^:\n]*:\d+:[^\n]*\n?/g;

const withoutPlaces = (words: string): string =>
  words.includes(":error:") ? words.replace(ofOpenssl, "$1") : words;

/** What was thrown that is no error; an object without a prototype can't say itself what it is. */
function inWords(thrown: unknown): string {
  if (typeof thrown !== "object") return String(thrown);
  const { message } = thrown as { readonly message?: unknown };
  return typeof message === "string" ? message : Object.prototype.toString.call(thrown);
}

function withCode(words: string, error: unknown): string {
  const { code } = Object(error) as { readonly code?: unknown };
  const says = typeof code === "string" && systemCode.test(code) && !words.includes(code);
  return says ? `${words} (${code})` : words;
}
