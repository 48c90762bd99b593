/** Where a node listens: a URL, or a Unix socket. */
import { connect, isIP } from "node:net";
import { connect as connectSecurely } from "node:tls";
import type { GrpcTransportOptions } from "@connectrpc/connect-node";
import { withoutBrackets } from "../../hostname.js";
import { socketPathIn } from "../../socket-path.js";
import type { ClientTls } from "../http/client-tls.js";
import { portOf } from "../http/proxy.js";
import { withRemedy } from "../http/tls-remedy.js";

/** `http://host:port`, `https://host`, `unix:/path/of.sock`, or a pipe of Windows, `unix:\\.\pipe\name`. */
export const addressPattern =
  /^(?:https?:\/\/[^\s/?#]+\/?|unix:\/[\s\S]+|unix:\\\\[.?]\\pipe\\[\s\S]+)$/;

type Connection = Pick<GrpcTransportOptions, "baseUrl" | "nodeOptions">;

/** Whether this is an address that `connectionTo` takes: the pattern knows no ports and no hosts. */
export function isAddress(text: string): boolean {
  if (!addressPattern.test(text)) return false;
  return text.startsWith("unix:") ? socketPathIn(text) !== "" : URL.canParse(text);
}

/**
 * How the transport reaches an address.
 * @param tls for https://. Default: what Node trusts, and no certificate to show
 */
export function connectionTo(address: string, tls?: ClientTls): Connection {
  if (address.startsWith("unix:")) {
    const path = socketPathIn(address);
    return { baseUrl: "http://localhost", nodeOptions: { createConnection: () => connect(path) } };
  }
  const baseUrl = address.replace(/\/$/, "");
  if (!tls) return { baseUrl };
  return { baseUrl, nodeOptions: { createConnection: (url) => connectWith(tls, url) } };
}

function connectWith(tls: ClientTls, url: URL) {
  const host = withoutBrackets(url.hostname);
  const { secureContext, servername = isIP(host) === 0 ? host : "" } = tls.current();
  const at = { host, port: portOf(url), ALPNProtocols: ["h2"] };
  const socket = connectSecurely({ ...at, secureContext, servername });
  // Ahead of who makes a call's error of it.
  return socket.prependListener("error", withRemedy);
}
