/**
 * Messages that can't be read. The RPC library answers them before any method
 * is called, so before authentication, and in words of its own. Here such an
 * answer is read back, and the method called with what can be read of the message
 * and the defect instead: the core decides, as it does for every other door.
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
  errorToJsonBytes,
} from "@connectrpc/connect/protocol-connect";
import { findTrailerError } from "@connectrpc/connect/protocol-grpc";
import { trailerFlag, trailerParse } from "@connectrpc/connect/protocol-grpc-web";
import { toConnectError } from "../../core/connect-error.js";
import { LintelError } from "../../core/errors.js";
import { unfoldsTooFar } from "../items.js";
import { type Arrival, arrivalKey } from "./context.js";
import { messageTooLarge } from "./edge/request.js";
import { encodingNames, type Frame, framesIn, isBare, isJson, typeOf } from "./frames.js";
import { jsonReader, messageIn, type Reading } from "./json-message.js";
import type { Reception } from "./reception.js";
import { withoutTooMuch } from "./unfolding.js";
import type { ByteRequest } from "./web-text.js";

/** Answers a request of the contract, broken or not. */
export type Answer = (request: ByteRequest, arrival: Arrival) => Promise<UniversalServerResponse>;

/** How a method of the contract, or of administration, is answered. */
export function answering(
  handler: UniversalHandler,
  { bodyLimit, strict }: Pick<Reception, "bodyLimit" | "strict">,
): Answer {
  const { input } = handler.method;
  const readJson = jsonReader(input, strict);
  const tooFarIn = (message: Uint8Array) => unfoldsTooFar(input, message);
  return async (request, arrival) => {
    // Nothing is read for who is not let in: the core refuses whatever they ask.
    if (arrival.admission instanceof LintelError) {
      return handler({ ...request, ...emptyMessage(request.header) });
    }
    let reading: Reading | undefined;
    const json = isJson(request.header);
    const inspect = json ? readJson.unfoldsTooFar : tooFarIn;
    const bounded = withoutTooMuch(request, inspect, bodyLimit, (tooFar) => {
      reading = tooFar;
    });
    const body = json ? kept(bounded, arrival) : bounded;
    const first = await attempt(handler, { ...request, body }, arrival, bodyLimit);
    if ("response" in first) return first.response;

    if (json && !reading && first.defect.code === "invalid_json") {
      const bytes = await messageIn(arrival.body, request.header, bodyLimit);
      reading = bytes && readJson.read(bytes);
    }
    const again: Arrival = {
      ...arrival,
      defect: reading ? (reading.defect ?? arrival.defect) : first.defect,
      message: reading?.message,
      names: reading?.names,
      body: [],
    };
    const contextValues = (request.contextValues ?? createContextValues()).set(arrivalKey, again);
    const empty = emptyMessage(request.header);
    const response = await handler({ ...request, ...empty, contextValues });
    for (const [name, value] of first.accepts ?? []) response.header?.set(name, value);
    return response;
  };
}

/** A message that never reached the method. */
interface Broken {
  readonly defect: LintelError;
  /** How messages may be packed, as a response has to say where one was packed otherwise. */
  readonly accepts?: readonly [name: string, value: string][];
}

/** What the library answers, or what it found wrong with a message that never reached the method. */
async function attempt(
  handler: UniversalHandler,
  request: UniversalServerRequest,
  arrival: Arrival,
  bodyLimit: number,
): Promise<{ response: UniversalServerResponse } | Broken> {
  try {
    const response = await handler(request);
    if (arrival.reached || !response.body) return { response };
    const bytes = await readAllBytes(response.body, 1024 * 1024);
    const error = errorIn(response, bytes);
    const defect = error && defectOf(error, bodyLimit);
    if (defect && !arrival.signal.aborted) return { defect, accepts: acceptsIn(response, error) };
    return { response: { ...response, body: createAsyncIterable([bytes]) } };
  } catch (thrown) {
    // The library quotes values, and can't put a lone surrogate into trailers.
    if (arrival.reached || arrival.signal.aborted || !(thrown instanceof URIError)) throw thrown;
    return { defect: new LintelError("invalid_json", unreadable) };
  }
}

const acceptNames = ["accept-encoding", "connect-accept-encoding", "grpc-accept-encoding"];

/** What the library says besides an error, wherever its protocol puts it. */
const acceptsIn = ({ header }: UniversalServerResponse, error: ConnectError): Broken["accepts"] =>
  acceptNames.flatMap((name): [string, string][] => {
    const value = new Headers(header).get(name) ?? error.metadata.get(name);
    return value === null ? [] : [[name, value]];
  });

/** The body, whose parts are kept until the method is called. */
async function* kept(
  body: AsyncIterable<Uint8Array>,
  arrival: Arrival,
): AsyncGenerator<Uint8Array> {
  for await (const part of body) {
    if (!arrival.reached) arrival.body.push(part);
    yield part;
  }
}

/** Header and body of a request whose message has no field set, in the same protocol and format. */
function emptyMessage(original: Headers): Pick<UniversalServerRequest, "header" | "body"> {
  const header = new Headers(original);
  for (const name of [...encodingNames, "content-length"]) header.delete(name);
  const message = new TextEncoder().encode(isJson(header) ? "{}" : "");
  const body = isBare(header) ? message : encodeEnvelope(0, message);
  return { header, body: createAsyncIterable([body]) };
}

/** The error that a response carries, wherever its protocol puts it. */
function errorIn(response: UniversalServerResponse, bytes: Uint8Array): ConnectError | undefined {
  const type = typeOf(new Headers(response.header));
  try {
    if (type.startsWith("application/grpc-web")) {
      const frame = lastFrame(bytes);
      return frame?.flags === trailerFlag
        ? findTrailerError(trailerParse(frame.data))
        : unknownError();
    }
    if (type.startsWith("application/grpc")) {
      return findTrailerError(new Headers(response.trailer));
    }
    if (type.startsWith("application/connect+")) {
      const frame = lastFrame(bytes);
      return frame?.flags === endStreamFlag ? endStreamFromJson(frame.data).error : unknownError();
    }
    return response.status === 200
      ? undefined
      : errorFromJsonBytes(bytes, undefined, unknownError());
  } catch {
    return unknownError();
  }
}

/**
 * The answer of a service without rules of its own. A status of Connect tells whose fault it
 * is, and the library takes a message that can't be read for the server's.
 */
export async function unreadableIsCallers(
  response: UniversalServerResponse,
): Promise<UniversalServerResponse> {
  if (response.status !== 500 || !response.body) return response;
  const bytes = await readAllBytes(response.body, 1024 * 1024);
  const broken = errorIn(response, bytes)?.rawMessage.startsWith("parse binary: ");
  if (!broken) return { ...response, body: createAsyncIterable([bytes]) };
  const error = toConnectError(new LintelError("invalid_json", unreadable));
  const told = errorToJsonBytes(error, undefined);
  const header = new Headers(response.header);
  header.set("content-length", String(told.length));
  return { ...response, status: 400, header, body: createAsyncIterable([told]) };
}

const lastFrame = (bytes: Uint8Array): Frame | undefined => [...framesIn(bytes)].at(-1);

const unreadable = "the message can't be read";

/** Stands for one that can't be read back. Not made at a start: its Headers would load all of fetch. */
const unknownError = () => toConnectError(new LintelError("invalid_value", unreadable));

/** What the library found, in the gateway's terms; `undefined` if it is not about the message. */
function defectOf(error: ConnectError, bodyLimit: number): LintelError | undefined {
  switch (error.code) {
    case Code.InvalidArgument:
      return new LintelError("invalid_json", error.rawMessage.slice(0, 300));
    case Code.Internal:
      // Also what could not be unpacked.
      return new LintelError("invalid_json", unreadable);
    case Code.ResourceExhausted:
      return messageTooLarge(bodyLimit);
    case Code.Unimplemented:
      // No message or several of them, or packed in a way that nobody here knows.
      return new LintelError("unimplemented", error.rawMessage.slice(0, 300));
    default:
      return undefined;
  }
}
