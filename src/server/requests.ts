/** What keeps requests over HTTP/2 within their limits. */
import { constants, type IncomingHttpHeaders, type ServerHttp2Stream } from "node:http2";
import { resetSoon } from "../doors/reset.js";
import { isStatusAlone } from "../doors/rpc/trailers.js";
import type { CorsHeaders } from "./cors.js";
import { refuseStream, tooSlow } from "./failure.js";

/**
 * How large headers are, as HTTP/1 counts them: with `: ` and a line's end for each.
 * @param raw names and values in turn
 */
export function headerBytes(raw: readonly string[]): number {
  let bytes = raw.length * 2;
  for (const part of raw) bytes += part.length;
  return bytes;
}

/**
 * A body that does not come to its end ends the stream, with 408 if nothing was answered yet. What
 * still comes once the answer is out is read and dropped: Node resets a stream of which nobody
 * has read anything as soon as it is answered, and curl and httpx lose the answer with that.
 * @param sending has the stream until then
 * @param cors who may read the answer
 */
export function limitBody(
  stream: ServerHttp2Stream,
  headers: IncomingHttpHeaders,
  timeout: number,
  sending: Set<ServerHttp2Stream>,
  cors: CorsHeaders | undefined,
): void {
  if (stream.readableEnded || stream.endAfterHeaders) return;
  const timer = setTimeout(() => {
    if (stream.headersSent) stream.close(constants.NGHTTP2_CANCEL);
    else refuseStream(stream, headers, tooSlow(), cors);
  }, timeout);
  const over = () => {
    clearTimeout(timer);
    sending.delete(stream);
  };
  sending.add(stream);
  // Node's own listener, which resets, is added with the answer's end, so it comes after this one.
  const drop = () => stream.resume();
  stream.once("finish", drop).once("end", over).once("close", over);
}

/** Closes a stream once its answer is complete: its client may have left its own half open. */
export function closeAnswered(stream: ServerHttp2Stream): void {
  const close = () => resetSoon(stream);
  const alone = () => isStatusAlone(stream);
  // All other answers have trailers, if only empty ones, and they are the last of it.
  if (stream.sentTrailers || alone()) close();
  else stream.once("wantTrailers", close).once("finish", () => alone() && close());
}
