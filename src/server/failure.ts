/** Failures outside of any door: unknown paths, wrong methods, requests that can't be read. */
import type { OutgoingHttpHeaders, ServerResponse } from "node:http";
import type { IncomingHttpHeaders, ServerHttp2Stream } from "node:http2";
import type { Duplex } from "node:stream";
import { setTrailerStatus } from "@connectrpc/connect/protocol-grpc";
import type { FastifyReply } from "fastify";
import { toConnectError } from "../core/connect-error.js";
import { LintelError } from "../core/errors.js";
import { requestIdOf } from "../core/request-id.js";
import { bodyIncomplete, type ErrorForm, errorBody, sendError } from "../doors/json/error.js";
import { resetSoon } from "../doors/reset.js";
import { readable } from "../doors/rpc/trailers.js";
import { type CorsHeaders, readableByAll } from "./cors.js";

/** Why what came on a connection is no request. */
type RequestFault = Error & { readonly code?: string; readonly rawPacket?: Buffer };

const isGrpc = (type: string) => /^application\/grpc(?:[-+;]|$)/i.test(type);

/** The status of gRPC that an error is. */
const statusOf = (error: LintelError): Record<string, string> =>
  Object.fromEntries(readable(setTrailerStatus(new Headers(), toConnectError(error))));

/**
 * Sends an error in the caller's protocol: what gRPC clients want is a status, alone or in the trailers.
 * @param form of one that is JSON; absent: the route's
 */
export function sendFailure(
  reply: FastifyReply,
  error: LintelError,
  form?: ErrorForm,
): FastifyReply {
  const type = reply.request.headers["content-type"] ?? "";
  if (!isGrpc(type)) return sendError(reply, error, undefined, undefined, form);
  const status = statusOf(error);
  const headers = { ...reply.getHeaders(), "content-type": type };
  const { raw } = reply.hijack();
  if ("stream" in raw) {
    const stream = raw.stream as ServerHttp2Stream;
    const answer = { ":status": 200, ...headers, ...status } as OutgoingHttpHeaders;
    // Its client may have left while the request was looked at.
    if (!stream.destroyed && !stream.closed) stream.respond(answer, { endStream: true });
    return reply;
  }
  // gRPC-Web has no trailers; without a message they stand in the headers.
  if (/^application\/grpc-web/i.test(type)) {
    raw.writeHead(200, { ...headers, ...status } as OutgoingHttpHeaders).end();
    return reply;
  }
  raw.writeHead(200, headers as OutgoingHttpHeaders);
  raw.addTrailers(status);
  raw.end();
  return reply;
}

/**
 * Answers a request over HTTP/2 on its stream, whoever else has it, and closes that: the rest
 * of the body is not waited for.
 */
export function refuseStream(
  stream: ServerHttp2Stream,
  headers: IncomingHttpHeaders,
  error: LintelError,
  cors: CorsHeaders | undefined,
  status = error.http,
): void {
  // Nobody else may have it yet, and that its connection breaks would end the process.
  stream.on("error", () => {});
  if (stream.destroyed || stream.closed) return;
  const type = headers["content-type"] ?? "";
  const all = { "x-request-id": requestIdOf(headers["x-request-id"]), ...cors?.(headers.origin) };
  if (isGrpc(type)) {
    const answer = { ":status": 200, "content-type": type, ...all, ...statusOf(error) };
    stream.respond(answer, { endStream: true });
  } else {
    const json = "application/json; charset=utf-8";
    const allow = error.allow !== undefined && { allow: error.allow };
    stream.respond({ ":status": status, "content-type": json, ...all, ...allow });
    // It is ended already where the request was HEAD.
    if (!stream.writableEnded) stream.end(JSON.stringify(errorBody(error)));
  }
  resetSoon(stream);
}

/** Why a request is refused whose headers are too large, with the status 431. */
export const headersTooLarge = () => new LintelError("too_large", "the headers are too large");

/** Why a request is refused that came in cleartext to an address with TLS. */
export const speaksTls = () =>
  new LintelError("invalid_value", "this address speaks TLS: ask it by https://");

/** How the PROXY protocol begins, in words and in bytes. */
const proxyProtocol = /^(?:PROXY |\r\n\r\n\0\r\nQUIT\n)/;

const noRequest = (bytes: Buffer | undefined) =>
  new LintelError(
    "invalid_value",
    proxyProtocol.test(bytes?.toString("latin1", 0, 12) ?? "")
      ? "the PROXY protocol is not spoken here: the proxy before this address is to send none"
      : "this is no HTTP request",
  );

/** Why a request is refused that does not come to its end. */
export const tooSlow = () =>
  new LintelError("request_timeout", "the request took too long to arrive");

/**
 * Answers bytes on an HTTP/1 connection that are no request, or came too
 * slowly, and closes it. Answers nothing if the client left or a response has begun.
 * @param newest of the connection's responses, also where it is complete
 * @param cors who may read it; absent: no page
 */
export function refuse(
  thrown: RequestFault,
  socket: Duplex & { readonly _httpMessage?: ServerResponse | null },
  newest: ServerResponse | undefined,
  cors?: CorsHeaders,
): void {
  const { headersSent, req: request } = socket._httpMessage ?? {};
  const inBody = newest?.req.complete === false;
  // A request is answered once, also where its body was not waited for.
  const answered = headersSent || (inBody && newest.headersSent);
  if (!socket.writable || answered) {
    socket.destroy();
    return;
  }
  const readers = request ? cors?.(request.headers.origin) : cors && readableByAll;
  refuseSocket(socket, ...refusalOf(thrown, inBody), request?.headers, readers);
}

/**
 * Answers a request for which there is no response on its HTTP/1 connection, and closes that.
 * @param status with its name
 * @param headers of the request, where they came
 * @param readers headers that say who may read it
 */
export function refuseSocket(
  socket: Duplex,
  status: string,
  error: LintelError,
  headers: IncomingHttpHeaders = {},
  readers: Readonly<Record<string, string>> = {},
): void {
  const body = JSON.stringify(errorBody(error));
  const head = [
    `HTTP/1.1 ${status}`,
    "content-type: application/json; charset=utf-8",
    `content-length: ${Buffer.byteLength(body)}`,
    `x-request-id: ${requestIdOf(headers["x-request-id"])}`,
    ...(error.allow === undefined ? [] : [`allow: ${error.allow}`]),
    ...Object.entries(readers).map((said) => said.join(": ")),
    "connection: close",
  ];
  socket.end(`${head.join("\r\n")}\r\n\r\n${body}`, () => socket.destroy());
}

function refusalOf(thrown: RequestFault, inBody: boolean): [status: string, error: LintelError] {
  switch (thrown.code) {
    case "ERR_HTTP_REQUEST_TIMEOUT":
      return ["408 Request Timeout", tooSlow()];
    case "HPE_HEADER_OVERFLOW":
      return ["431 Request Header Fields Too Large", headersTooLarge()];
  }
  if (!inBody) return ["400 Bad Request", noRequest(thrown.rawPacket)];
  // Else what came in chunks has no such form.
  const brokeOff = thrown.code === "HPE_INVALID_EOF_STATE";
  const unreadable = () => new LintelError("invalid_json", "the body can't be read");
  return ["400 Bad Request", brokeOff ? bodyIncomplete(thrown) : unreadable()];
}
