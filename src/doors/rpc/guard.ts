/**
 * What the Fastify plugin leaves out between the RPC library and the
 * connection: it can wait forever on a client that left without reading, and
 * it writes what goes wrong to the console.
 */

import type { ServerHttp2Stream } from "node:http2";
import { Code, ConnectError, createContextValues } from "@connectrpc/connect";
import type {
  UniversalHandler,
  UniversalServerRequest,
  UniversalServerResponse,
} from "@connectrpc/connect/protocol";
import type { FastifyReply, FastifyRequest } from "fastify";
import type { CallSignal } from "../../core/cancellation.js";
import { LintelError } from "../../core/errors.js";
import type { Logger } from "../../core/log.js";
import { piecesOf } from "../drained.js";
import { isUtf8 } from "../json/body.js";
import { breakOffSoon } from "../reset.js";
import { bodyOf } from "./body.js";
import { type Arrival, arrivalKey, requestKey } from "./context.js";
import { answering, unreadableIsCallers } from "./defect.js";
import { encodingNames, typeOf } from "./frames.js";
import { asPost, isGet } from "./get.js";
import type { Reception } from "./reception.js";
import { dropEndlessTimeout, takeBrokenTimeout } from "./timeout.js";
import { readable, sendFailed } from "./trailers.js";
import { otherEncoding, plainRefusal, unsupported } from "./unsupported.js";
import { inWebForm } from "./web-text.js";

/**
 * The same handler, that ends its work when the caller leaves.
 * @param reception of its method; absent: it is asked without a token, and answers by itself
 */
export function guarded(
  handler: UniversalHandler,
  log: Logger,
  reception: Reception | undefined,
): UniversalHandler {
  const ours = reception && answering(handler, reception);
  const otherType = unsupported(handler);
  const refuse = async (request: FastifyRequest, arrival: Arrival) => {
    const error = isGet(request.raw) ? otherEncoding : otherType(request.headers["content-type"]);
    return reception?.refuse
      ? reception.refuse(handler.method, error, request, arrival)
      : plainRefusal(error);
  };
  const guard = async (came: UniversalServerRequest): Promise<UniversalServerResponse> => {
    const inAddress = isGet(came) ? asPost(came) : undefined;
    const incoming = inAddress?.request ?? came;
    const { signal, contextValues = createContextValues() } = incoming;
    const request = contextValues.get(requestKey);
    if (!request) throw new Error("an RPC came without Fastify's request");
    const failed = (err: unknown) => log.error({ err, id: request.id }, "an RPC broke off");

    dropParameters(incoming.header);
    lowerCodings(incoming.header);
    dropEndlessTimeout(incoming.header);
    const late = ours && takeBrokenTimeout(incoming.header);
    const defect = late ?? inAddress?.defect;
    const asked = reception?.admit?.(request);
    const admission = asked instanceof Promise ? await asked : asked;
    // What nobody reads is dropped: the connection's next request comes after it.
    if (admission instanceof LintelError) request.raw.resume();
    const arrival: Arrival = {
      signal,
      requestId: request.id,
      admission,
      defect,
      body: [],
      reached: false,
    };
    contextValues.set(arrivalKey, arrival);
    const body = inAddress?.request.body ?? bodyOf(request);
    const readTwice = { ...incoming, body, contextValues };
    const left = () => signal.aborted || isClosed(request);
    try {
      const response = await inWebForm(readTwice, (binary) =>
        ours ? ours(binary, arrival) : handler(binary).then(unreadableIsCallers),
      );
      if (left()) throw gone();
      const told = response.status === 415 ? await refuse(request, arrival) : response;
      // What it is depends on who asks, and on when.
      if (inAddress) told.header?.set("cache-control", "no-store");
      if (told.status === 401) told.header?.set("www-authenticate", "Bearer");
      const broken = (thrown: unknown) => {
        failed(thrown);
        cut(request);
      };
      return wanted(told, signal, left, broken, () => sendFailed(request, told));
    } catch (thrown) {
      if (left()) throw gone();
      failed(thrown);
      return { status: 500 };
    }
  };
  return Object.assign(guard, handler);
}

/**
 * The response, whose body's iteration ends in any case once the caller left.
 * @param empty called where there was nothing in the body; tells whether all is answered with that
 */
function wanted(
  response: UniversalServerResponse,
  signal: CallSignal,
  left: () => boolean,
  failed: (thrown: unknown) => void,
  empty: () => boolean,
): UniversalServerResponse {
  const body = response.body && untilGone(response.body, left, failed, empty);
  // A write that waits in an HTTP/1 pipeline never ends, so the plugin would not come back.
  signal.addEventListener("abort", () => void body?.return().catch(() => {}), { once: true });
  return new Wanted(response, body);
}

/** A class, not an object with a getter, which V8 would keep until a full collection (bench/NOTES.md). */
class Wanted implements UniversalServerResponse {
  readonly status: number;
  readonly header?: Headers;
  readonly body?: AsyncIterable<Uint8Array>;
  readonly #response: UniversalServerResponse;

  constructor(response: UniversalServerResponse, body: AsyncIterable<Uint8Array> | undefined) {
    this.status = response.status;
    if (response.header) this.header = response.header;
    if (body) this.body = body;
    this.#response = response;
  }

  /** Complete only when the body has ended. */
  get trailer(): Headers | undefined {
    const { trailer } = this.#response;
    return trailer && readable(trailer);
  }
}

async function* untilGone(
  body: AsyncIterable<Uint8Array>,
  left: () => boolean,
  failed: (thrown: unknown) => void,
  empty: () => boolean,
): AsyncGenerator<Uint8Array, void, void> {
  let begun = false;
  try {
    for await (const part of body) {
      for (const piece of piecesOf(part)) {
        if (left()) break;
        begun = true;
        yield piece;
      }
    }
  } catch (thrown) {
    if (!left()) failed(thrown);
    throw gone();
  }
  if (left() || (!begun && empty())) throw gone();
}

/** Whether nobody can be answered any more: what is done to such a stream throws before its signal tells. */
const isClosed = ({ raw }: FastifyRequest): boolean => {
  if (!("stream" in raw)) return raw.socket.destroyed;
  const { closed, destroyed } = raw.stream as ServerHttp2Stream;
  return closed || destroyed;
};

/**
 * Lets what can't be written fail as callers who left do. Only then does it, but the plugin knows
 * few of the codes that Node gives it: from Node 22 on it is ECANCELED over HTTP/2.
 */
export function failAsLeft(response: FastifyReply["raw"]): void {
  // An end with data calls it too, and without the last.
  type Write = (data: unknown, encoding: string, done?: (error?: unknown) => void) => boolean;
  const write = response.write.bind(response) as Write;
  const writeOrLeave: Write = (data, encoding, done) =>
    write(data, encoding, done && ((error) => done(error && gone())));
  response.write = writeOrLeave as typeof response.write;
}

/** The one failure that the plugin takes without a word: there is nobody to be answered, or no need. */
function gone(): ConnectError {
  return new ConnectError("the caller left", Code.Aborted);
}

/** Ends a response such that no client takes it for a whole one. */
function cut({ raw }: FastifyRequest): void {
  // An HTTP/2 connection has other calls beside this one.
  if ("stream" in raw) breakOffSoon(raw.stream as ServerHttp2Stream);
  else raw.destroy();
}

/** The library knows few spellings of what may stand behind a media type. */
function dropParameters(header: Headers): void {
  const type = typeOf(header);
  const end = type.indexOf(";");
  if (end >= 0 && isUtf8(type)) header.set("content-type", type.slice(0, end).trim());
}

/** How messages are packed is the same in any letters (RFC 9110, 8.4.1); the library knows small ones. */
function lowerCodings(header: Headers): void {
  for (const name of encodingNames) {
    const coding = header.get(name);
    if (coding !== null) header.set(name, coding.toLowerCase());
  }
}
