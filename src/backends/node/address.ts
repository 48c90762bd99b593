/** Where a node listens: a URL, or a Unix socket. */
import { connect } from "node:net";
import type { GrpcTransportOptions } from "@connectrpc/connect-node";
import { socketPathIn } from "../../socket-path.js";

/** `http://host:port`, `https://host`, or `unix:/path/of.sock`. */
export const addressPattern = /^(?:https?:\/\/[^\s/?#]+\/?|unix:\/[\s\S]+)$/;

type Connection = Pick<GrpcTransportOptions, "baseUrl" | "nodeOptions">;

/** Whether this is an address that `connectionTo` takes: the pattern knows no ports and no hosts. */
export function isAddress(text: string): boolean {
  if (!addressPattern.test(text)) return false;
  return text.startsWith("unix:") ? socketPathIn(text) !== "" : URL.canParse(text);
}

/** How the transport reaches an address. */
export function connectionTo(address: string): Connection {
  if (!address.startsWith("unix:")) return { baseUrl: address.replace(/\/$/, "") };
  const path = socketPathIn(address);
  return { baseUrl: "http://localhost", nodeOptions: { createConnection: () => connect(path) } };
}
