/** Messages that come in pieces on one connection: what is kept of them until they are whole. */
import type { Http2Session, ServerHttp2Stream } from "node:http2";

/** Bytes of a message that are kept without being counted: nearly all messages have fewer. */
export const uncounted = 64 * 1024;

/** Most bytes of further messages that one connection's streams may keep before some have to wait. */
export const mostKept = 16 * 1024 * 1024;

const sessions = new WeakMap<Http2Session, Unfinished>();

/** Those of a stream's connection; `undefined` once that is closed. */
export function unfinishedOf({ session }: ServerHttp2Stream): Unfinished | undefined {
  if (!session) return undefined;
  let unfinished = sessions.get(session);
  if (!unfinished) {
    unfinished = new Unfinished();
    sessions.set(session, unfinished);
  }
  return unfinished;
}

/**
 * The large messages of one connection. When they have become too many bytes, only the one
 * that came first is read on, so that it comes to its end, and the others after it.
 */
export class Unfinished {
  /** Bytes by stream, in the order in which they came. */
  readonly #kept = new Map<ServerHttp2Stream, number>();
  readonly #waiting = new Set<ServerHttp2Stream>();
  #bytes = 0;

  /** A stream keeps so many bytes now. */
  keeps(stream: ServerHttp2Stream, bytes: number): void {
    const before = this.#kept.get(stream);
    if (before === undefined) stream.once("close", () => this.ends(stream));
    this.#kept.set(stream, bytes);
    this.#bytes += bytes - (before ?? 0);
    if (this.#bytes <= mostKept || this.#first() === stream) return;
    stream.pause();
    this.#waiting.add(stream);
  }

  /** A stream keeps nothing any more. */
  ends(stream: ServerHttp2Stream): void {
    this.#bytes -= this.#kept.get(stream) ?? 0;
    this.#kept.delete(stream);
    this.#waiting.delete(stream);
    const first = this.#first();
    for (const other of this.#waiting) {
      if (this.#bytes > mostKept && other !== first) continue;
      this.#waiting.delete(other);
      other.resume();
    }
  }

  #first(): ServerHttp2Stream | undefined {
    return this.#kept.keys().next().value;
  }
}
