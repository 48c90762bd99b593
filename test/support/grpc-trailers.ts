/** Trailers of gRPC as HTTP/2 brings them. */
import { type ClientHttp2Stream, constants, type IncomingHttpHeaders } from "node:http2";

/** Takes a call's trailers: of one that fails before its first message they are its one block of headers. */
export function onTrailers(
  stream: ClientHttp2Stream,
  take: (trailers: IncomingHttpHeaders) => void,
): void {
  stream.on("response", ({ ":status": _, ...headers }, flags) => {
    if (flags & constants.NGHTTP2_FLAG_END_STREAM) take(headers);
  });
  stream.on("trailers", take);
}
