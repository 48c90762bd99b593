/** The services of the contract, made of their descriptors: no line for a method. */
import type { IncomingHttpHeaders, ServerHttp2Stream } from "node:http2";
import type { DescMethod, DescService } from "@bufbuild/protobuf";
import type { ConnectRouter, HandlerContext } from "@connectrpc/connect";
import { toConnectError } from "../../core/connect-error.js";
import { toLintelError } from "../../core/errors.js";
import { type Gateway, only, type Running } from "../../core/gateway.js";
import { type Input, type MethodName, type Output, services } from "../../core/methods.js";
import { credentialOf } from "../credential.js";
import type { DoorOptions, DoorSettings } from "../door.js";
import { headersOf } from "../json/headers.js";
import { renamed } from "../json/rename.js";
import { type Asked, clientOfRequest, headerIn, originFrom } from "../origin.js";
import { retryAfterHeader } from "../retry-after.js";
import { arrivalKey, requestKey } from "./context.js";
import type { Admit, EdgeMethod } from "./edge/edge.js";
import { toGrpcError, toldBy } from "./pushback.js";

/** Every method of the contract, for plain gRPC. */
export function contractMethods(options: DoorOptions): Map<DescMethod, EdgeMethod> {
  const all = (services as readonly DescService[]).flatMap(({ methods }) => methods);
  return new Map(
    all.map((method) => [method, edgeMethod(method.localName as MethodName, options)]),
  );
}

/** Who calls by plain gRPC. */
export function admitGrpc(gateway: Gateway, settings: DoorSettings): Admit {
  const client = clientOfRequest(settings);
  const ofStream = (headers: IncomingHttpHeaders, { session }: ServerHttp2Stream) =>
    client(headers, { socket: session?.socket });
  return (headers, stream) =>
    gateway.admit(credentialOf(headers.authorization), ofStream, headers, stream);
}

function edgeMethod(method: MethodName, { gateway, settings }: DoorOptions): EdgeMethod {
  return ({ request, headers, connection, admission, defect, timeoutMs, signal }) => {
    const header = headerIn(headers);
    const origin = originFrom(
      {
        door: "grpc",
        header,
        connection,
        signal,
        requestId: header("x-request-id"),
        timeoutMs,
        admission,
        defect,
      },
      settings,
    );
    const began = performance.now();
    const left = () => timeoutMs && timeoutMs - (performance.now() - began);
    const running = gateway.call(method, request as Input<MethodName>, origin);
    return {
      messages: running.messages,
      headers: () => headersOf(running),
      trailers: () => ({}),
      error: (thrown) => toGrpcError(toLintelError(thrown), left()),
    };
  };
}

/** Adds every service of the contract to the router. */
export function addContract(router: ConnectRouter, options: DoorOptions): void {
  for (const service of services as readonly DescService[]) {
    const implementation = service.methods.map((m) => [m.localName, implement(m, options)]);
    router.service(service, Object.fromEntries(implementation));
  }
}

function implement(method: DescMethod, options: DoorOptions) {
  const name = method.localName as MethodName;
  switch (method.methodKind) {
    case "unary":
      return unary(name, options);
    case "server_streaming":
      return streaming(name, options);
    default:
      throw new Error(`${method.name}: the core has no calls with a stream of requests`);
  }
}

function unary<M extends MethodName>(method: M, options: DoorOptions) {
  return async (request: Input<M>, context: HandlerContext): Promise<Output<M>> => {
    const running = start(method, request, context, options);
    try {
      const message = await only(running);
      setHeaders(context, running);
      return message;
    } catch (thrown) {
      const error = toLintelError(thrown);
      setHeaders(context, running);
      // Such an answer has a status of HTTP, and who asks with curl or a proxy reads no details.
      if (context.protocolName === "connect") {
        for (const [name, value] of Object.entries(retryAfterHeader(error))) {
          context.responseHeader.set(name, value);
        }
      }
      throw toldBy(context, error);
    }
  };
}

function streaming<M extends MethodName>(method: M, options: DoorOptions) {
  return async function* (request: Input<M>, context: HandlerContext): AsyncGenerator<Output<M>> {
    const running = start(method, request, context, options);
    setHeaders(context, running);
    // nginx collects kilobytes first, but for plain gRPC, which it knows.
    if (context.protocolName !== "grpc") context.responseHeader.set("x-accel-buffering", "no");
    try {
      let first = true;
      for await (const batch of running.messages) {
        // Headers leave with the first message.
        if (first) setHeaders(context, running);
        first = false;
        yield* batch;
      }
    } catch (thrown) {
      setHeaders(context, running);
      throw toldBy(context, toLintelError(thrown));
    }
  };
}

function start<M extends MethodName>(
  method: M,
  request: Input<M>,
  context: HandlerContext,
  { gateway, settings }: DoorOptions,
): Running<M> {
  const arrival = context.values.get(arrivalKey);
  arrival.reached = true;
  arrival.body.length = 0;
  const incoming = context.values.get(requestKey);
  const asked: Asked = {
    door: context.protocolName,
    // Not the library's own: they have no `:authority`, and throw where one asks for it.
    header: headerIn(incoming?.headers ?? {}),
    connection: incoming?.raw.socket,
    signal: arrival.signal,
    requestId: arrival.requestId,
    timeoutMs: context.timeoutMs(),
    admission: arrival.admission,
    defect: arrival.defect,
  };
  try {
    const message = (arrival.message ?? request) as Input<M>;
    return renamed(gateway.call(method, message, originFrom(asked, settings)), arrival.names ?? {});
  } catch (err) {
    // The library would answer it without a word to anybody else.
    gateway.log.error({ err, id: arrival.requestId }, "an RPC could not be started");
    throw toConnectError(toLintelError(err));
  }
}

function setHeaders(context: HandlerContext, running: Running<MethodName>): void {
  for (const [name, value] of Object.entries(headersOf(running))) {
    context.responseHeader.set(name, value);
  }
}
