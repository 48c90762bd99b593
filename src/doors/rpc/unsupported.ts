/** Requests in a media type that no protocol has: the RPC library says nothing but the status. */
import {
  createAsyncIterable,
  type UniversalHandler,
  type UniversalServerResponse,
} from "@connectrpc/connect/protocol";
import { LintelError } from "../../core/errors.js";
import { errorBody } from "../json/error.js";

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

/** The error that names the types in which a method is served. */
export function unsupported(handler: UniversalHandler): LintelError {
  const served = types.filter(handler.supportedContentType).join(", ");
  return new LintelError("unsupported_media_type", `this method takes ${served}`);
}

/**
 * An answer for who speaks no protocol of RPCs, or one that can't be told. It is no error in
 * Connect's form, as its conformance suite wants it: clients of Connect go by the status.
 */
export function plainRefusal(error: LintelError): UniversalServerResponse {
  const body = new TextEncoder().encode(JSON.stringify(errorBody(error)));
  return {
    status: error.http,
    header: new Headers({ "content-type": "application/json; charset=utf-8" }),
    body: createAsyncIterable([body]),
  };
}
