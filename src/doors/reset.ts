/** Resets streams of HTTP/2. */
import type { ServerHttp2Stream } from "node:http2";

/**
 * Resets a stream once what is read now has been read: Node 20 frees it at once, though it may
 * be the one that is read, and corrupts its memory then (nodejs/node#64113).
 * @param code of `constants`, `NGHTTP2_…`
 */
export function resetSoon(stream: ServerHttp2Stream, code: number): void {
  setImmediate(() => stream.close(code));
}
