/** The trailers of gRPC, for people and for clients that try again. */
import type { OutgoingHttpHeaders, ServerHttp2Stream } from "node:http2";
import type { UniversalServerResponse } from "@connectrpc/connect/protocol";
import type { FastifyRequest } from "fastify";

/**
 * The library escapes more of `grpc-message` than the protocol asks for, and
 * grpc-js shows what need not be escaped as it came.
 */
export function readable(trailers: Headers): Headers {
  const message = trailers.get("grpc-message");
  if (message === null) return trailers;
  // A blank at either end would not count as part of the value.
  const plain = message.replace(
    /(?!^%20|%20$)%(?!25)(?:[2-6][0-9A-F]|7[0-9A-E])/g,
    decodeURIComponent,
  );
  const changed = new Headers(trailers);
  changed.set("grpc-message", plain);
  return changed;
}

/** Most that clients take in one block by default, as HTTP/2 counts it, with room for Node's date. */
const mostBytes = 8192 - 100;

/**
 * All that is said of a gRPC call that failed before its first message, in one block of headers, which
 * gRPC calls Trailers-Only: clients retry none that has begun, as headers of their own tell. What
 * the call was warned of is left out where that is more than clients take.
 */
export function statusAlone(
  headers: OutgoingHttpHeaders,
  trailers: OutgoingHttpHeaders,
): OutgoingHttpHeaders {
  const all = { ...headers, ...trailers };
  let bytes = 0;
  for (const [name, value] of Object.entries(all)) bytes += name.length + `${value}`.length + 32;
  if (bytes > mostBytes) delete all["x-lintel-warnings"];
  return all;
}

/**
 * Answers such a call.
 * @param response with the trailers in it
 * @returns whether it is one
 */
export function sendFailed(
  { id, raw, headers }: FastifyRequest,
  { header, trailer }: UniversalServerResponse,
): boolean {
  const status = trailer?.get("grpc-status") ?? "0";
  if (status === "0" || !("stream" in raw) || !isGrpc(headers["content-type"])) return false;
  const answer = statusAlone(
    { ":status": 200, "x-request-id": id, ...Object.fromEntries(new Headers(header)) },
    Object.fromEntries(readable(trailer as Headers)),
  );
  (raw.stream as ServerHttp2Stream).respond(answer, { endStream: true });
  return true;
}

/** Not of gRPC-Web, which has its trailers in the body. */
const isGrpc = (type = "") => /^application\/grpc(?:[+;]|\s*$)/i.test(type);

/** Whether an answer over HTTP/2 is a gRPC status alone. */
export const isStatusAlone = ({ sentHeaders }: ServerHttp2Stream): boolean =>
  sentHeaders?.["grpc-status"] !== undefined;
