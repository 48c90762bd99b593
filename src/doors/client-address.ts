/** Where a client is, for the log: of those who are refused, and of administrators. */
import type { IncomingMessage } from "node:http";
import { isIP } from "node:net";
import proxyAddr from "@fastify/proxy-addr";
import { type Connection, type TrustedProxies, thisMachine, trustIn } from "./forwarded.js";

/**
 * The address that a request came from; `undefined` for one by a Unix socket, or by a connection that is closed.
 * @param header what a header says, by its name in lower case
 */
export type ClientOf = (
  header: (name: string) => string | undefined,
  connection: Connection | undefined,
) => string | undefined;

/** That of the connection, whatever anybody says. */
export const peerOf: ClientOf = (_, connection) => plain(connection?.remoteAddress);

/**
 * Reads `X-Forwarded-For` where the connection is a trusted proxy's: the last address there that is no such proxy's.
 * @returns `undefined` if nobody is trusted
 * @throws Error for an entry that is no address and no network
 */
export function clientBy(trusted: TrustedProxies): ClientOf | undefined {
  const trusts = trustIn(trusted);
  if (!trusts) return undefined;
  return (header, connection) => {
    const said = header("x-forwarded-for");
    if (said === undefined || connection === undefined) return peerOf(header, connection);
    const { remoteAddress = thisMachine } = connection;
    const request = { headers: { "x-forwarded-for": said }, socket: { remoteAddress } };
    const client = plain(proxyAddr(request as object as IncomingMessage, trusts));
    return client ?? peerOf(header, connection);
  };
}

/** An address of IPv4 as such where IPv6 carries it, and without the port that some proxies write behind it. */
function plain(address = ""): string | undefined {
  const [, six, four] = /^(?:\[([^\]]*)\]|([\d.]+))(?::\d+)?$/.exec(address) ?? [];
  const bare = (six ?? four ?? address).replace(/^::ffff:(?=\d+\.)/i, "");
  return isIP(bare) === 0 ? undefined : bare;
}
