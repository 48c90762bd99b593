/** The services of the contract, made of their descriptors: no line for a method. */
import type { DescMethod, DescService } from "@bufbuild/protobuf";
import type { ConnectRouter, HandlerContext } from "@connectrpc/connect";
import { toConnectError } from "../../core/connect-error.js";
import { toLintelError } from "../../core/errors.js";
import { type Gateway, type Origin, only, type Running } from "../../core/gateway.js";
import { type Input, type MethodName, type Output, services } from "../../core/methods.js";
import { credentialOf } from "../credential.js";
import { withDeadline } from "../deadline.js";
import { headersOf } from "../json/reply.js";
import { arrivalKey } from "./context.js";
import type { EdgeMethod } from "./edge/edge.js";

/** Every method of the contract, for plain gRPC. */
export function contractMethods(gateway: Gateway): Map<DescMethod, EdgeMethod> {
  const all = (services as readonly DescService[]).flatMap(({ methods }) => methods);
  return new Map(
    all.map((method) => [method, edgeMethod(method.localName as MethodName, gateway)]),
  );
}

function edgeMethod(method: MethodName, gateway: Gateway): EdgeMethod {
  return ({ request, headers, defect, timeoutMs, signal }) => {
    const header = (name: string) => headers[name] as string | undefined;
    const origin: Origin = {
      door: "grpc",
      credential: credentialOf(headers.authorization),
      defect,
      signal,
      timeoutMs,
      requestId: header("x-request-id"),
      idempotencyKey: header("idempotency-key"),
      header,
    };
    const running = gateway.call(
      method,
      request as Input<MethodName>,
      withDeadline(origin, header("x-request-timeout-ms")),
    );
    return {
      messages: running.messages,
      headers: () => headersOf(running),
      trailers: () => ({}),
      error: (thrown) => toConnectError(toLintelError(thrown)),
    };
  };
}

/** Adds every service of the contract to the router. */
export function addContract(router: ConnectRouter, gateway: Gateway): void {
  for (const service of services as readonly DescService[]) {
    const implementation = service.methods.map((m) => [m.localName, implement(m, gateway)]);
    router.service(service, Object.fromEntries(implementation));
  }
}

function implement(method: DescMethod, gateway: Gateway) {
  const name = method.localName as MethodName;
  switch (method.methodKind) {
    case "unary":
      return unary(name, gateway);
    case "server_streaming":
      return streaming(name, gateway);
    default:
      throw new Error(`${method.name}: the core has no calls with a stream of requests`);
  }
}

function unary<M extends MethodName>(method: M, gateway: Gateway) {
  return async (request: Input<M>, context: HandlerContext): Promise<Output<M>> => {
    const running = start(method, request, context, gateway);
    try {
      const message = await only(running);
      setHeaders(context, running);
      return message;
    } catch (thrown) {
      setHeaders(context, running);
      throw toConnectError(toLintelError(thrown));
    }
  };
}

function streaming<M extends MethodName>(method: M, gateway: Gateway) {
  return async function* (request: Input<M>, context: HandlerContext): AsyncGenerator<Output<M>> {
    const running = start(method, request, context, gateway);
    setHeaders(context, running);
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
      throw toConnectError(toLintelError(thrown));
    }
  };
}

function start<M extends MethodName>(
  method: M,
  request: Input<M>,
  context: HandlerContext,
  gateway: Gateway,
): Running<M> {
  const arrival = context.values.get(arrivalKey);
  arrival.reached = true;
  const header = (name: string) => context.requestHeader.get(name) ?? undefined;
  const origin: Origin = {
    door: context.protocolName,
    credential: credentialOf(header("authorization")),
    defect: arrival.defect,
    signal: arrival.signal,
    timeoutMs: context.timeoutMs(),
    requestId: arrival.requestId,
    idempotencyKey: header("idempotency-key"),
    header,
  };
  return gateway.call(method, request, withDeadline(origin, header("x-request-timeout-ms")));
}

function setHeaders(context: HandlerContext, running: Running<MethodName>): void {
  for (const [name, value] of Object.entries(headersOf(running))) {
    context.responseHeader.set(name, value);
  }
}
