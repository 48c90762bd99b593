/**
 * ConformanceService as its proto describes it: what a caller asks for is
 * answered, with what was seen of the request. Written once, served by both the
 * RPC library and the gRPC edge.
 */
import { create, type Message, type MessageInitShape } from "@bufbuild/protobuf";
import { type Any, anyPack } from "@bufbuild/protobuf/wkt";
import { ConnectError } from "@connectrpc/connect";
import {
  type BidiStreamRequest,
  BidiStreamRequestSchema,
  BidiStreamResponseSchema,
  type ClientStreamRequest,
  ClientStreamRequestSchema,
  ClientStreamResponseSchema,
  type ConformancePayload_RequestInfo,
  ConformancePayload_RequestInfoSchema,
  ConformancePayloadSchema,
  type Error as DescribedError,
  type Header,
  HeaderSchema,
  type IdempotentUnaryRequest,
  IdempotentUnaryRequestSchema,
  IdempotentUnaryResponseSchema,
  type ServerStreamRequest,
  ServerStreamRequestSchema,
  ServerStreamResponseSchema,
  type UnaryRequest,
  UnaryRequestSchema,
  type UnaryResponseDefinition,
  UnaryResponseSchema,
} from "./gen/connectrpc/conformance/v1/service_pb.js";

/** What a method sees and sets besides messages. */
export interface Surroundings {
  readonly requestHeaders: Iterable<[string, string]>;
  readonly timeoutMs: number | undefined;
  readonly isGet: boolean;
  setHeader(name: string, value: string): void;
  setTrailer(name: string, value: string): void;
  readonly signal: AbortSignal;
}

export async function unary(request: UnaryRequest, around: Surroundings) {
  const payload = await whole(
    request.responseDefinition,
    [anyPack(UnaryRequestSchema, request)],
    around,
  );
  return create(UnaryResponseSchema, { payload });
}

export async function idempotentUnary(request: IdempotentUnaryRequest, around: Surroundings) {
  const seen = [anyPack(IdempotentUnaryRequestSchema, request)];
  const payload = await whole(request.responseDefinition, seen, around);
  return create(IdempotentUnaryResponseSchema, { payload });
}

export async function clientStream(
  requests: AsyncIterable<ClientStreamRequest>,
  around: Surroundings,
) {
  const seen: Any[] = [];
  let definition: UnaryResponseDefinition | undefined;
  for await (const request of requests) {
    definition ??= request.responseDefinition;
    seen.push(anyPack(ClientStreamRequestSchema, request));
  }
  return create(ClientStreamResponseSchema, { payload: await whole(definition, seen, around) });
}

export async function* serverStream(request: ServerStreamRequest, around: Surroundings) {
  const { responseDefinition: definition } = request;
  const seen = [anyPack(ServerStreamRequestSchema, request)];
  if (!definition) return;
  set(definition, around);
  let info: ConformancePayload_RequestInfo | undefined = requestInfo(seen, around);
  for (const data of definition.responseData) {
    await pause(definition.responseDelayMs, around);
    yield create(ServerStreamResponseSchema, { payload: payload(data, info) });
    info = undefined;
  }
  if (definition.error) throw error(definition.error, info);
}

export async function* bidiStream(
  requests: AsyncIterable<BidiStreamRequest>,
  around: Surroundings,
) {
  let first: BidiStreamRequest | undefined;
  let seen: Any[] = [];
  let sent = 0;
  const definition = () => first?.responseDefinition;
  for await (const request of requests) {
    if (!first) {
      first = request;
      if (request.responseDefinition) set(request.responseDefinition, around);
    }
    seen.push(anyPack(BidiStreamRequestSchema, request));
    if (!first.fullDuplex) continue;
    const data = definition()?.responseData[sent];
    if (data === undefined) break;
    await pause(definition()?.responseDelayMs ?? 0, around);
    const info =
      sent === 0
        ? requestInfo(seen, around)
        : create(ConformancePayload_RequestInfoSchema, { requests: seen });
    yield create(BidiStreamResponseSchema, { payload: payload(data, info) });
    seen = [];
    sent++;
  }
  const info = () => (sent === 0 ? requestInfo(seen, around) : undefined);
  for (const data of definition()?.responseData.slice(sent) ?? []) {
    await pause(definition()?.responseDelayMs ?? 0, around);
    yield create(BidiStreamResponseSchema, { payload: payload(data, info()) });
    sent++;
  }
  const failure = definition()?.error;
  if (failure) throw error(failure, info());
}

async function whole(
  definition: UnaryResponseDefinition | undefined,
  seen: Any[],
  around: Surroundings,
) {
  const info = requestInfo(seen, around);
  if (!definition) return payload(undefined, info);
  set(definition, around);
  await pause(definition.responseDelayMs, around);
  const { response } = definition;
  if (response.case === "error") throw error(response.value, info);
  return payload(response.value, info);
}

function set(
  definition: { responseHeaders: Header[]; responseTrailers: Header[] },
  around: Surroundings,
): void {
  for (const { name, value } of definition.responseHeaders)
    for (const v of value) around.setHeader(name, v);
  for (const { name, value } of definition.responseTrailers)
    for (const v of value) around.setTrailer(name, v);
}

const payload = (data: Uint8Array | undefined, info: ConformancePayload_RequestInfo | undefined) =>
  create(ConformancePayloadSchema, {
    ...(data && { data }),
    ...(info && { requestInfo: info }),
  } as MessageInitShape<typeof ConformancePayloadSchema>);

function requestInfo(requests: Any[], around: Surroundings): ConformancePayload_RequestInfo {
  return create(ConformancePayload_RequestInfoSchema, {
    requests,
    requestHeaders: [...around.requestHeaders].map(([name, value]) =>
      create(HeaderSchema, { name, value: [value] }),
    ),
    ...(around.timeoutMs !== undefined && { timeoutMs: BigInt(Math.round(around.timeoutMs)) }),
    ...(around.isGet && { connectGetInfo: {} }),
  });
}

function error(described: DescribedError, info: ConformancePayload_RequestInfo | undefined) {
  const result = new ConnectError(described.message ?? "", described.code as number);
  const details: (Any | { desc: never; value: Message })[] = [...described.details];
  if (info) details.push(anyPack(ConformancePayload_RequestInfoSchema, info));
  result.details = details.map((any) => {
    const { typeUrl, value } = any as Any;
    return { type: typeUrl.slice(typeUrl.lastIndexOf("/") + 1), value };
  });
  return result;
}

/** Waits, or until the caller left. */
function pause(ms: number, { signal }: Surroundings): Promise<void> {
  if (ms === 0) return Promise.resolve();
  return new Promise((resolve, reject) => {
    const timer = setTimeout(resolve, ms);
    signal.addEventListener("abort", () => {
      clearTimeout(timer);
      reject(signal.reason);
    });
  });
}
