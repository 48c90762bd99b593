/** Connections of RPC clients to whatever is tested. */
import type { Transport } from "@connectrpc/connect";
import {
  createConnectTransport,
  createGrpcTransport,
  createGrpcWebTransport,
} from "@connectrpc/connect-node";

/** The transport to an address. */
export type TransportOf = (baseUrl: string) => Transport;

/** One connection for all calls, as a real client has. */
function kept(open: TransportOf): TransportOf {
  const transports = new Map<string, Transport>();
  return (baseUrl) => {
    const transport = transports.get(baseUrl) ?? open(baseUrl);
    transports.set(baseUrl, transport);
    return transport;
  };
}

export const grpc = kept((baseUrl) => createGrpcTransport({ baseUrl }));
export const grpcWeb = kept((baseUrl) => createGrpcWebTransport({ baseUrl, httpVersion: "1.1" }));
/** @param form of the messages */
export const connect = (form: "binary" | "JSON", httpVersion: "1.1" | "2") =>
  kept((baseUrl) =>
    createConnectTransport({ baseUrl, httpVersion, useBinaryFormat: form === "binary" }),
  );
