/** Requests in a media type that no protocol has: the RPC library says nothing but the status. */
import { create, type DescMethod } from "@bufbuild/protobuf";
import {
  createAsyncIterable,
  type UniversalHandler,
  type UniversalServerResponse,
} from "@connectrpc/connect/protocol";
import type { FastifyRequest } from "fastify";
import { LintelError, toLintelError } from "../../core/errors.js";
import type { Gateway } from "../../core/gateway.js";
import type { Input, MethodName } from "../../core/methods.js";
import { doorDefaults } from "../door.js";
import { isUtf8 } from "../json/body.js";
import { errorBody } from "../json/error.js";
import { headersOf } from "../json/headers.js";
import { headerIn, originFrom } from "../origin.js";
import { retryAfterHeader } from "../retry-after.js";
import type { Arrival } from "./context.js";

/** What most clients send; a method has some of them. */
const types = [
  "application/json",
  "application/proto",
  "application/connect+json",
  "application/connect+proto",
  "application/grpc",
  "application/grpc-web",
  "application/grpc-web-text",
];

/** The errors that name the types in which a method is served, by what a request has for one. */
export function unsupported(handler: UniversalHandler): (type?: string) => LintelError {
  const served = types.filter(handler.supportedContentType).join(", ");
  const other = new LintelError("unsupported_media_type", `this method takes ${served}`);
  const otherCharset = new LintelError(
    "unsupported_media_type",
    `the charset has to be UTF-8; this method takes ${served}`,
  );
  return (type = "") => (isUtf8(type) ? other : otherCharset);
}

/** The same of a GET, whose address says it. */
export const otherEncoding = new LintelError(
  "unsupported_media_type",
  "encoding of the address has to be json or proto",
);

/** Refuses a call of the contract as all else is refused: by a call that is told of. */
export async function refuseType(
  method: DescMethod,
  error: LintelError,
  gateway: Pick<Gateway, "call">,
  { headers, raw }: FastifyRequest,
  { signal, requestId, admission }: Arrival,
): Promise<UniversalServerResponse> {
  const origin = originFrom(
    {
      door: doorOf(headers["content-type"]),
      header: headerIn(headers),
      connection: raw.socket,
      ...{ signal, requestId, admission, defect: error },
    },
    doorDefaults,
  );
  const name = method.localName as MethodName;
  const running = gateway.call(name, create(method.input) as Input<MethodName>, origin);
  try {
    for await (const _ of running.messages) break;
    throw error;
  } catch (thrown) {
    const told = toLintelError(thrown);
    return plainRefusal(told, { ...headersOf(running), ...retryAfterHeader(told) });
  }
}

/** What comes nearest to the type. */
export const doorOf = (type = "") => /^application\/(grpc-web|grpc)\b/.exec(type)?.[1] ?? "connect";

/**
 * An answer for who speaks no protocol of RPCs, or one that can't be told. It is no error in
 * Connect's form, as its conformance suite wants it: clients of Connect go by the status.
 */
export function plainRefusal(
  error: LintelError,
  headers: Readonly<Record<string, string>> = {},
): UniversalServerResponse {
  const body = new TextEncoder().encode(JSON.stringify(errorBody(error)));
  return {
    status: error.http,
    header: new Headers({ ...headers, "content-type": "application/json; charset=utf-8" }),
    body: createAsyncIterable([body]),
  };
}
