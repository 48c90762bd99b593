/** Bodies that come in pieces on one connection over HTTP/2: what is kept of them until they are whole. */
import type { IncomingMessage } from "node:http";
import type { Http2ServerRequest, Http2Session } from "node:http2";

/** Bytes of a body that are kept without being counted: nearly all bodies have fewer. */
export const uncounted = 64 * 1024;

/** Most bytes of further bodies that one connection's requests may keep before some have to wait. */
export const mostKept = 16 * 1024 * 1024;

/** What a body comes from. */
export interface Source {
  /** Lets it wait. */
  pause(): unknown;
  /** Lets it go on. */
  resume(): unknown;
  once(event: "close", closed: () => void): unknown;
}

const sessions = new WeakMap<Http2Session, Unfinished>();

/** Those of a connection; `undefined` once that is closed. */
export function unfinishedOf(session: Http2Session | undefined): Unfinished | undefined {
  if (!session) return undefined;
  let unfinished = sessions.get(session);
  if (!unfinished) {
    unfinished = new Unfinished();
    sessions.set(session, unfinished);
  }
  return unfinished;
}

/** Those of a request's connection; `undefined` over HTTP/1, which has one body at a time. */
export const unfinishedBeside = (
  request: IncomingMessage | Http2ServerRequest,
): Unfinished | undefined =>
  "stream" in request ? unfinishedOf(request.stream.session) : undefined;

/**
 * The large bodies of one connection. When they have become too many bytes, only the one
 * that came first is read on, so that it comes to its end, and the others after it.
 */
export class Unfinished {
  /** Bytes by source, in the order in which they came. */
  readonly #kept = new Map<Source, number>();
  readonly #waiting = new Set<Source>();
  #bytes = 0;

  /** So many bytes are kept of a source now. */
  keeps(source: Source, bytes: number): void {
    const before = this.#kept.get(source);
    if (before === undefined) source.once("close", () => this.ends(source));
    this.#kept.set(source, bytes);
    this.#bytes += bytes - (before ?? 0);
    if (this.#bytes <= mostKept || this.#first() === source) return;
    source.pause();
    this.#waiting.add(source);
  }

  /** Nothing is kept of a source any more. */
  ends(source: Source): void {
    this.#bytes -= this.#kept.get(source) ?? 0;
    this.#kept.delete(source);
    this.#waiting.delete(source);
    const first = this.#first();
    for (const other of this.#waiting) {
      if (this.#bytes > mostKept && other !== first) continue;
      this.#waiting.delete(other);
      other.resume();
    }
  }

  #first(): Source | undefined {
    return this.#kept.keys().next().value;
  }
}
