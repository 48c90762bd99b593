/**
 * Messages that can't be read. The RPC library answers them before any method
 * is called, so before authentication, and in words of its own. Here such an
 * answer is read back, and the method called with an empty message and the
 * defect instead: the core decides, as it does for every other door.
 */
import { Code, type ConnectError, createContextValues } from "@connectrpc/connect";
import {
  createAsyncIterable,
  encodeEnvelope,
  readAllBytes,
  type UniversalHandler,
  type UniversalServerRequest,
  type UniversalServerResponse,
} from "@connectrpc/connect/protocol";
import {
  endStreamFlag,
  endStreamFromJson,
  errorFromJsonBytes,
} from "@connectrpc/connect/protocol-connect";
import { findTrailerError } from "@connectrpc/connect/protocol-grpc";
import { trailerFlag, trailerParse } from "@connectrpc/connect/protocol-grpc-web";
import { toConnectError } from "../../core/connect-error.js";
import { invalidFields, LintelError } from "../../core/errors.js";
import { type Arrival, arrivalKey } from "./context.js";

/** Answers a request of the contract, broken or not. */
export async function answer(
  handler: UniversalHandler,
  request: UniversalServerRequest,
  arrival: Arrival,
): Promise<UniversalServerResponse> {
  const response = await handler(request);
  if (arrival.reached || !response.body) return response;

  const bytes = await readAllBytes(response.body, 1024 * 1024);
  const error = errorIn(response, bytes);
  const defect = error && defectOf(error);
  if (!defect || arrival.signal.aborted) return { ...response, body: createAsyncIterable([bytes]) };

  const values = createContextValues().set(arrivalKey, { ...arrival, defect });
  return handler({ ...request, ...emptyMessage(request.header), contextValues: values });
}

/** Header and body of a request whose message has no field set, in the same protocol and format. */
function emptyMessage(original: Headers): Pick<UniversalServerRequest, "header" | "body"> {
  const header = new Headers(original);
  const encodings = ["content-encoding", "connect-content-encoding", "grpc-encoding"];
  for (const name of [...encodings, "content-length"]) header.delete(name);
  // What is wrong with them has become the defect.
  for (const name of ["grpc-timeout", "connect-timeout-ms"]) header.delete(name);
  const type = header.get("content-type") ?? "";
  const message = new TextEncoder().encode(type.includes("json") ? "{}" : "");
  const whole = /^application\/(json|proto)/i.test(type);
  return { header, body: createAsyncIterable([whole ? message : encodeEnvelope(0, message)]) };
}

/** The error that a response carries, wherever its protocol puts it. */
function errorIn(response: UniversalServerResponse, bytes: Uint8Array): ConnectError | undefined {
  const fallback = toConnectError(new LintelError("invalid_value", unreadable));
  const type = new Headers(response.header).get("content-type") ?? "";
  try {
    if (type.startsWith("application/grpc-web")) {
      const frame = lastFrame(bytes);
      return frame?.flags === trailerFlag ? findTrailerError(trailerParse(frame.data)) : fallback;
    }
    if (type.startsWith("application/grpc")) {
      return findTrailerError(new Headers(response.trailer));
    }
    if (type.startsWith("application/connect+")) {
      const frame = lastFrame(bytes);
      return frame?.flags === endStreamFlag ? endStreamFromJson(frame.data).error : fallback;
    }
    return response.status === 200 ? undefined : errorFromJsonBytes(bytes, undefined, fallback);
  } catch {
    return fallback;
  }
}

function lastFrame(bytes: Uint8Array): { flags: number; data: Uint8Array } | undefined {
  const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength);
  let frame: { flags: number; data: Uint8Array } | undefined;
  for (let at = 0; at + 5 <= bytes.length; ) {
    const end = at + 5 + view.getUint32(at + 1);
    frame = { flags: view.getUint8(at), data: bytes.subarray(at + 5, end) };
    at = end;
  }
  return frame;
}

const unreadable = "the message can't be read";

/** What the library found, in the gateway's terms; `undefined` if it is not about the message. */
function defectOf(error: ConnectError): LintelError | undefined {
  const said = error.rawMessage.slice(0, 300);
  switch (error.code) {
    case Code.InvalidArgument:
      return fieldDefect(said) ?? new LintelError("invalid_json", said);
    case Code.Internal:
      // Also what could not be unpacked.
      return new LintelError("invalid_json", unreadable);
    case Code.ResourceExhausted:
      return new LintelError("too_large", said);
    default:
      return undefined;
  }
}

/** `cannot decode field lintel.v1.LLMRequest.top_p from JSON: expected …` names the field. */
function fieldDefect(said: string): LintelError | undefined {
  const match = /^cannot decode field [\w.]+\.(\w+) from JSON(?:: (.*))?$/s.exec(said);
  if (!match?.[1]) return undefined;
  return invalidFields([{ field: match[1], message: match[2] ?? "has the wrong type" }]);
}
