/**
 * The conformance suite's service behind what serves gRPC, gRPC-Web and Connect
 * in Lintel: the listener, the mounting of the RPC library, and the gRPC edge.
 * Reads what is asked of it from stdin, tells its port on stdout. See run.sh.
 */
import { readSync, writeSync } from "node:fs";
import {
  createRegistry,
  type DescMethod,
  fromBinary,
  type MessageShape,
  toBinary,
} from "@bufbuild/protobuf";
import { Code, ConnectError, type HandlerContext } from "@connectrpc/connect";
import { nativeSignal } from "../../src/core/cancellation.js";
import { type LintelError, toLintelError } from "../../src/core/errors.js";
import { silent } from "../../src/core/log.js";
import type { Metadata } from "../../src/doors/rpc/edge/answer.js";
import { type EdgeMethod, grpcEdge } from "../../src/doors/rpc/edge/edge.js";
import { mountRpc } from "../../src/doors/rpc/rpc.js";
import { createApp } from "../../src/server/app.js";
import { listen } from "../../src/server/listen.js";
import {
  ServerCompatRequestSchema,
  ServerCompatResponseSchema,
} from "./gen/connectrpc/conformance/v1/server_compat_pb.js";
import {
  ConformanceService,
  file_connectrpc_conformance_v1_service,
} from "./gen/connectrpc/conformance/v1/service_pb.js";
import {
  bidiStream,
  clientStream,
  idempotentUnary,
  type Surroundings,
  serverStream,
  unary,
} from "./service.js";

function readAsked() {
  const exactly = (length: number): Buffer => {
    const bytes = Buffer.alloc(length);
    for (let at = 0; at < length; ) at += readSync(0, bytes, at, length - at, null);
    return bytes;
  };
  return fromBinary(ServerCompatRequestSchema, exactly(exactly(4).readUInt32BE()));
}

/** Around a call of the RPC library. */
const ofLibrary = (context: HandlerContext): Surroundings => ({
  requestHeaders: context.requestHeader,
  timeoutMs: context.timeoutMs(),
  // A GET is handed on as a POST; its address stays.
  isGet: new URL(context.url).search !== "",
  setHeader: (name, value) => context.responseHeader.append(name, value),
  setTrailer: (name, value) => context.responseTrailer.append(name, value),
  signal: context.signal,
});

function edgeMethod(
  desc: DescMethod,
  answer: (request: never, around: Surroundings) => AsyncIterable<unknown> | Promise<unknown>,
): EdgeMethod {
  return ({ request, headers, defect, timeoutMs, signal }) => {
    const [sent, trailers]: [Metadata, Metadata] = [{}, {}];
    const add = (to: Metadata) => (name: string, value: string) => {
      const key = name.toLowerCase();
      to[key] = to[key] === undefined ? value : [to[key], value].flat();
    };
    const left = nativeSignal(signal);
    const deadline =
      timeoutMs === undefined ? left : AbortSignal.any([left, AbortSignal.timeout(timeoutMs)]);
    const around: Surroundings = {
      requestHeaders: Object.entries(headers).flatMap(([name, value]) =>
        name.startsWith(":") || value === undefined
          ? []
          : [value].flat().map((v): [string, string] => [name, v]),
      ),
      timeoutMs,
      isGet: false,
      setHeader: add(sent),
      setTrailer: add(trailers),
      signal: deadline,
    };
    async function* messages() {
      if (defect) throw defect;
      const answered = answer(request as never, around);
      const late = new Promise<never>((_, reject) =>
        deadline.addEventListener("abort", () =>
          reject(new ConnectError("the deadline passed", Code.DeadlineExceeded)),
        ),
      );
      late.catch(() => {});
      if (desc.methodKind === "unary") {
        yield [
          (await Promise.race([answered as Promise<unknown>, late])) as MessageShape<
            typeof desc.output
          >,
        ];
        return;
      }
      const iterator = (answered as AsyncIterable<MessageShape<typeof desc.output>>)[
        Symbol.asyncIterator
      ]();
      for (;;) {
        const step = await Promise.race([iterator.next(), late]);
        if (step.done) return;
        yield [step.value];
      }
    }
    return {
      messages: messages(),
      headers: () => sent,
      trailers: () => trailers,
      error: (thrown) => (thrown instanceof ConnectError ? thrown : plain(toLintelError(thrown))),
    };
  };
}

/** An error without the details that the contract's methods give. */
const plain = ({ message, grpc }: LintelError) => new ConnectError(message, grpc);

const asked = readAsked();
const bodyLimit = asked.messageReceiveLimit || 16 * 1024 * 1024;
const app = await createApp({ bodyLimit });
await app.register((scope) =>
  mountRpc(
    scope,
    bodyLimit,
    { log: silent },
    (router) => {
      router.service(ConformanceService, {
        unary: (request, context) => unary(request, ofLibrary(context)),
        idempotentUnary: (request, context) => idempotentUnary(request, ofLibrary(context)),
        serverStream: (request, context) => serverStream(request, ofLibrary(context)),
        clientStream: (requests, context) => clientStream(requests, ofLibrary(context)),
        bidiStream: (requests, context) => bidiStream(requests, ofLibrary(context)),
      });
    },
    { registry: createRegistry(file_connectrpc_conformance_v1_service) },
  ),
);
const { method } = ConformanceService;
const edge = grpcEdge(
  new Map<DescMethod, EdgeMethod>([
    [method.unary, edgeMethod(method.unary, unary)],
    [method.idempotentUnary, edgeMethod(method.idempotentUnary, idempotentUnary)],
    [method.serverStream, edgeMethod(method.serverStream, serverStream)],
  ]),
  bodyLimit,
);
const tls =
  asked.useTls && asked.serverCreds
    ? { cert: Buffer.from(asked.serverCreds.cert), key: Buffer.from(asked.serverCreds.key) }
    : undefined;
const listener = await listen(app, { host: "127.0.0.1", port: 0, tls }, edge);
const told = toBinary(ServerCompatResponseSchema, {
  $typeName: "connectrpc.conformance.v1.ServerCompatResponse",
  host: "127.0.0.1",
  port: listener.port,
  pemCert: asked.serverCreds && asked.useTls ? asked.serverCreds.cert : new Uint8Array(0),
});
const length = Buffer.alloc(4);
length.writeUInt32BE(told.length);
writeSync(1, Buffer.concat([length, told]));
process.on("SIGTERM", () => process.exit(0));
