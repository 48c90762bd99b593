/** Where a node listens: a URL, or a Unix socket. */
import { connect } from "node:net";
import { fileURLToPath } from "node:url";
import type { GrpcTransportOptions } from "@connectrpc/connect-node";

/** `http://host:port`, `https://host`, or `unix:/path/of.sock`. */
export const addressPattern = /^(?:https?:\/\/[^\s/?#]+\/?|unix:\/[\s\S]+)$/;

type Connection = Pick<GrpcTransportOptions, "baseUrl" | "nodeOptions">;

/** Whether this is an address that `connectionTo` takes: the pattern knows no ports and no hosts. */
export function isAddress(text: string): boolean {
  try {
    return addressPattern.test(text) && URL.canParse(connectionTo(text).baseUrl);
  } catch {
    return false;
  }
}

/** How the transport reaches an address. */
export function connectionTo(address: string): Connection {
  if (!address.startsWith("unix:")) return { baseUrl: address.replace(/\/$/, "") };
  const path = socketPathOf(address);
  return { baseUrl: "http://localhost", nodeOptions: { createConnection: () => connect(path) } };
}

/** The path in a `unix:` address. */
export function socketPathOf(address: string): string {
  const path = address.slice("unix:".length);
  return path.startsWith("//") ? fileURLToPath(`file:${path}`) : path;
}
