/** CONNECT, by which clients ask a proxy for a connection to somewhere else. */
import type { Server } from "node:http";
import type { Http2Server, Http2ServerRequest } from "node:http2";
import type { Socket } from "node:net";
import { LintelError } from "../core/errors.js";
import type { CorsHeaders } from "./cors.js";
import { refuseSocket, refuseStream } from "./failure.js";

const noProxy = () =>
  new LintelError("method_not_allowed", "this is no proxy: it does not take CONNECT", {
    allow: "GET, HEAD, POST",
  });

/** Refuses it over HTTP/1, where Node would close the connection without a word. */
export function refuseConnect(server: Server): void {
  server.on("connect", ({ headers }, socket: Socket & { readonly _httpMessage?: unknown }) => {
    // The answer to a request before it would come after ours.
    if (socket._httpMessage) socket.destroy();
    else refuseSocket(socket, "405 Method Not Allowed", noProxy(), headers);
  });
}

/**
 * Refuses it over HTTP/2, where Node's own answer has no body and no id.
 * @param cors who may read it
 */
export function refuseConnectStreams(server: Http2Server, cors: CorsHeaders | undefined): void {
  server.on("connect", ({ stream, headers }: Http2ServerRequest) =>
    refuseStream(stream, headers, noProxy(), cors),
  );
}
