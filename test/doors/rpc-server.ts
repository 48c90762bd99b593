/** The RPC door over the real core, on a listener; and clients of every protocol. */
import { type Client, createClient, type Transport } from "@connectrpc/connect";
import {
  compressionGzip,
  createConnectTransport,
  createGrpcTransport,
  createGrpcWebTransport,
  Http2SessionManager,
} from "@connectrpc/connect-node";
import { afterEach, expect, onTestFinished, vi } from "vitest";
import { ChatService } from "../../gen/lintel/v1/chat_pb.js";
import type { Backend } from "../../src/core/backend.js";
import type { Core } from "../../src/core/core.js";
import type { CoreSettings } from "../../src/core/settings.js";
import { type DoorSettings, doorDefaults } from "../../src/doors/door.js";
import { operations } from "../../src/doors/operations.js";
import { admitGrpc, contractMethods } from "../../src/doors/rpc/contract.js";
import { grpcEdge } from "../../src/doors/rpc/edge/edge.js";
import { rpc } from "../../src/doors/rpc/rpc.js";
import { createApp } from "../../src/server/app.js";
import { type Listener, listen } from "../../src/server/listen.js";
import type { Timeouts } from "../../src/server/settings.js";
import { coreOf } from "../support/core.js";
import { createWebTextTransport } from "./web-text-client.js";

export interface RpcServer extends Listener {
  readonly core: Core;
}

// The plugin would say there what should have been answered or logged.
const said = vi.spyOn(console, "error");
afterEach(() => expect(said).not.toHaveBeenCalled());

/** When something is closed: `onTestFinished`, or `afterAll` for what a whole file shares. */
export type Until = (close: () => void | Promise<void>) => void;

/** Starts the door, for the length of a test if nothing else is said. */
export async function serveRpc(
  backends: readonly Backend[],
  different: {
    core?: Partial<CoreSettings>;
    door?: Partial<DoorSettings>;
    timeouts?: Partial<Timeouts>;
  } = {},
  until: Until = onTestFinished,
): Promise<RpcServer> {
  const core = coreOf(backends, different.core);
  const settings = { ...doorDefaults, ...different.door };
  const app = await createApp({ bodyLimit: settings.bodyLimit });
  await app.register(rpc, { gateway: core, settings });
  await app.register(operations, { gateway: core, settings });
  const listener = await listen(
    app,
    { host: "127.0.0.1", port: 0, timeouts: different.timeouts },
    grpcEdge(
      contractMethods({ gateway: core, settings }),
      settings.bodyLimit,
      admitGrpc(core, settings),
    ),
  );
  until(async () => {
    core.abort();
    await listener.close(0);
    await app.close();
  });
  return { ...listener, core };
}

/** Every protocol, HTTP version and format that connect-node has, and gRPC-Web as text. */
export const wires = [
  "gRPC, binary",
  // The RPC library serves what is compressed.
  "gRPC with gzip, binary",
  "gRPC, JSON",
  "gRPC-Web on HTTP/1, binary",
  "gRPC-Web on HTTP/1, text",
  "gRPC-Web on HTTP/2, binary",
  "Connect on HTTP/1, binary",
  "Connect on HTTP/1, JSON",
  "Connect on HTTP/2, binary",
] as const;
export type Wire = (typeof wires)[number];

/** A connection of a kind to a server; closed with the test if nothing else is said. */
export function transportOf(wire: Wire, baseUrl: string, until: Until = onTestFinished): Transport {
  if (wire.endsWith("text")) return createWebTextTransport(baseUrl);
  const useBinaryFormat = wire.endsWith("binary");
  const common = { baseUrl, useBinaryFormat };
  if (wire.includes("HTTP/1")) {
    const options = { ...common, httpVersion: "1.1" } as const;
    return wire.startsWith("Connect")
      ? createConnectTransport(options)
      : createGrpcWebTransport(options);
  }
  const sessionManager = new Http2SessionManager(baseUrl);
  until(() => sessionManager.abort());
  const options = { ...common, sessionManager, httpVersion: "2" } as const;
  if (wire.startsWith("gRPC with gzip")) {
    return createGrpcTransport({
      ...options,
      sendCompression: compressionGzip,
      compressMinBytes: 0,
    });
  }
  if (wire.startsWith("gRPC,")) return createGrpcTransport(options);
  return wire.startsWith("Connect")
    ? createConnectTransport(options)
    : createGrpcWebTransport(options);
}

/** A client of the chat service, on a connection of its own. */
export function chatOver(wire: Wire, baseUrl: string): Client<typeof ChatService> {
  return createClient(ChatService, transportOf(wire, baseUrl));
}

/** Headers of somebody who may call. */
export const me = { headers: { authorization: "Bearer me" } } as const;

/** A request that the contract allows. */
export const hello = { messages: [{ role: "user", content: "Hello" }] };
