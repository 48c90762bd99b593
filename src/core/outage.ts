/** Why something is away, as long as it is. */
import { reasonOf } from "./log.js";

/** Codes of a peer that is not there, or was cut off: that it is away says as much. */
const absent: ReadonlySet<string> = new Set([
  "ECONNREFUSED",
  "ECONNRESET",
  "ENOENT",
  "EPIPE",
  "ETIMEDOUT",
]);

/** Most reasons of one outage that are said. */
const mostSaid = 5;

/**
 * Reasons for an outage. The first is mostly that a connection was closed; what keeps it from being
 * made again, a password that was changed or a certificate that expired, shows only later.
 */
export class OutageReasons {
  readonly #said = new Set<string>();

  /** It begins. @returns why */
  begin(error: unknown): string {
    this.#said.clear();
    const reason = reasonOf(error);
    this.#said.add(reason);
    return reason;
  }

  /** It goes on. @returns why, if that is news */
  next(error: unknown): string | undefined {
    if (this.#said.size >= mostSaid || !saysMore(error)) return undefined;
    const reason = reasonOf(error);
    if (this.#said.has(reason)) return undefined;
    this.#said.add(reason);
    return reason;
  }
}

/** Whether whoever is asked said something himself, or what is wrong is not that nobody is there. */
function saysMore(error: unknown): boolean {
  if (!(error instanceof Error)) return false;
  const { code } = error as { readonly code?: unknown };
  if (typeof code === "string") return !absent.has(code);
  // Redis has its codes in the words.
  return error.name === "ReplyError" || saysMore(error.cause);
}
