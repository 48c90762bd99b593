/**
 * The same two methods behind the gateway's gRPC edge or behind @grpc/grpc-js,
 * with nothing after them. Usage: tsx grpc-server.ts edge|grpc-js PORT
 */
import { createServer } from "node:http2";
import { type DescMethod, fromBinary, toBinary } from "@bufbuild/protobuf";
import { Server, ServerCredentials, type ServiceDefinition } from "@grpc/grpc-js";
import {
  ChatService,
  type LLMRequest,
  LLMRequestSchema,
  type LLMResponse,
  LLMResponseSchema,
} from "../../gen/lintel/v1/chat_pb.js";
import { type EdgeMethod, grpcEdge } from "../../src/doors/rpc/edge/edge.js";

const [, , kind, port] = process.argv;
/** Messages of one stream. */
const count = 100;

const message = (content: string): LLMResponse => ({
  $typeName: "lintel.v1.LLMResponse",
  id: "chatcmpl-1",
  model: "bench",
  created: 1,
  choices: [
    {
      $typeName: "lintel.v1.LLMChoice",
      index: 0,
      finishReason: "",
      delta: {
        ...{ $typeName: "lintel.v1.LLMMessage", role: "assistant", content },
        ...{ toolCalls: [], toolCallId: "", parts: [], images: [] },
      },
    },
  ],
  usageEstimated: false,
  warnings: [],
});
const answer = message(" token");

function edge(): void {
  // One message for each step: what a backend gives that has no more at once.
  async function* messages(n: number): AsyncGenerator<LLMResponse[]> {
    for (let i = 0; i < n; i++) yield [answer];
  }
  const method =
    (n: number): EdgeMethod =>
    () => ({
      messages: messages(n),
      headers: () => ({}),
      trailers: () => ({}),
      error: (thrown) => {
        throw thrown;
      },
    });
  const handler = grpcEdge(
    new Map<DescMethod, EdgeMethod>([
      [ChatService.method.complete, method(1)],
      [ChatService.method.chat, method(count)],
    ]),
    1 << 20,
  );
  const server = createServer();
  server.on("stream", (stream, headers) => {
    handler(stream, headers);
  });
  server.listen(Number(port), "127.0.0.1");
}

function grpcJs(): void {
  const common = {
    requestStream: false,
    requestSerialize: (value: LLMRequest) => Buffer.from(toBinary(LLMRequestSchema, value)),
    requestDeserialize: (bytes: Buffer) => fromBinary(LLMRequestSchema, bytes),
    responseSerialize: (value: LLMResponse) => Buffer.from(toBinary(LLMResponseSchema, value)),
    responseDeserialize: (bytes: Buffer) => fromBinary(LLMResponseSchema, bytes),
  };
  const definition = {
    complete: { ...common, path: "/lintel.v1.ChatService/Complete", responseStream: false },
    chat: { ...common, path: "/lintel.v1.ChatService/Chat", responseStream: true },
  } as unknown as ServiceDefinition;
  const server = new Server();
  server.addService(definition, {
    complete(_: unknown, done: (error: null, value: LLMResponse) => void) {
      done(null, answer);
    },
    chat(call: { write(value: LLMResponse): void; end(): void }) {
      for (let i = 0; i < count; i++) call.write(answer);
      call.end();
    },
  } as never);
  server.bindAsync(`127.0.0.1:${port}`, ServerCredentials.createInsecure(), () => {});
}

if (kind === "edge") edge();
else grpcJs();
