/** Resets streams of HTTP/2. */
import type { ServerHttp2Stream } from "node:http2";

/** Streams that are reset by this side. */
const resetHere = new WeakSet<object>();

/** Whether it was by `resetSoon` that a stream was reset. */
export const wasResetHere = (stream: object): boolean => resetHere.has(stream);

/**
 * Resets a stream once what is read now has been read: Node 20 frees it at once, though it may
 * be the one that is read, and corrupts its memory then (nodejs/node#64113).
 * @param code of `constants`, `NGHTTP2_…`
 */
export function resetSoon(stream: ServerHttp2Stream, code: number): void {
  setImmediate(() => {
    if (stream.closed) return;
    resetHere.add(stream);
    stream.close(code);
  });
}
