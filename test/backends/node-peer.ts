/** Servers of the contract's services, for tests of the backend `node`. */
import { createServer, type Http2Server, type Http2Session, type ServerOptions } from "node:http2";
import type { AddressInfo } from "node:net";
import type { ConnectRouter } from "@connectrpc/connect";
import { connectNodeAdapter } from "@connectrpc/connect-node";
import { onTestFinished } from "vitest";
import { ChatService, type LLMRequest } from "../../gen/lintel/v1/chat_pb.js";
import { ModelsService, State, Task } from "../../gen/lintel/v1/models_pb.js";
import { createNodeBackend } from "../../src/backends/node/index.js";
import { nodeSchema } from "../../src/backends/node/schema.js";
import type { Backend } from "../../src/core/backend.js";
import { type Logger, silent } from "../../src/core/log.js";

/** A gRPC server of the given services. */
export async function serve(
  routes: (router: ConnectRouter) => void,
  options: ServerOptions = {},
): Promise<Peer> {
  const server = createServer(options, connectNodeAdapter({ routes }));
  const sessions = new Set<Http2Session>();
  server.on("session", (session) => {
    sessions.add(session);
    session.on("close", () => sessions.delete(session));
  });
  await new Promise<void>((done) => server.listen(0, "127.0.0.1", done));
  const { port } = server.address() as AddressInfo;
  const cut = () => {
    for (const session of sessions) session.destroy();
  };
  const peer = { server, port, address: `http://127.0.0.1:${port}`, cut };
  onTestFinished(() => {
    cut();
    server.close();
  });
  return peer;
}

interface Peer {
  readonly server: Http2Server;
  readonly port: number;
  readonly address: string;
  /** Ends every connection. */
  cut(): void;
}

export function connectTo(address: string, config: object = {}, log: Logger = silent): Backend {
  const entry = nodeSchema.parse({ type: "node", name: "peer", address, ...config });
  const backend = createNodeBackend(entry, { log });
  onTestFinished(() => backend.close());
  return backend;
}

const model = { id: "m", task: Task.CHAT, state: State.READY, supports: ["temperature"] };
export const piece = (content: string, finishReason = "") => ({
  choices: [{ finishReason, delta: { role: "assistant", content } }],
});

/** The two services that most tests want. */
export function chatting(
  chat: (request: LLMRequest, signal: AbortSignal, headers: Headers) => AsyncIterable<object>,
) {
  return (router: ConnectRouter) => {
    router.service(ModelsService, { listModels: () => ({ models: [model] }) });
    router.service(ChatService, {
      chat: (request, context) => chat(request, context.signal, context.requestHeader) as never,
      complete: () => ({ choices: [{ message: { role: "assistant", content: "whole" } }] }),
    });
  };
}
