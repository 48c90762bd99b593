/** Where a caller reached the gateway, as the proxy before it says. */
import proxyAddr from "@fastify/proxy-addr";

/** Whose word counts: addresses and networks; `true` everybody's. */
export type TrustedProxies = boolean | readonly string[];

/** The connection that a request came by. */
export interface Connection {
  /** Absent on a Unix socket. */
  readonly remoteAddress?: string | undefined;
  readonly encrypted?: boolean | undefined;
}

/**
 * What the caller's address of the gateway begins with, without a slash at the
 * end; `undefined` if no trusted proxy says.
 * @param header what a header says, by its name in lower case
 */
export type BaseUrlOf = (
  header: (name: string) => string | undefined,
  connection: Connection | undefined,
) => string | undefined;

/** Who comes by a Unix socket is on it. */
export const thisMachine = "127.0.0.1";

/**
 * Whether somebody at an address is trusted, as `@fastify/proxy-addr` asks.
 * @returns `undefined` if nobody is
 * @throws Error for an entry that is no address and no network
 */
export function trustIn(
  trusted: TrustedProxies,
): ((address: string, distance: number) => boolean) | undefined {
  if (trusted === true) return () => true;
  return trusted === false || trusted.length === 0 ? undefined : proxyAddr.compile([...trusted]);
}

const gone: Connection = { remoteAddress: "" };

const hostPattern = /^(?:[a-z0-9._-]+|\[[0-9a-f:.]+\])(?::\d{1,5})?$/i;
/** With the slashes at its end: a pattern for them alone would look at a row of others again from each. */
const prefixPattern = /^((?:\/[\w.~%-]+)+)\/*$/;

/**
 * Reads `X-Forwarded-Proto`, `-Host` and `-Prefix`, and where there is none of
 * the first two, `Forwarded` (RFC 7239). Of several proxies in a row the last
 * one's word counts: it is the one that is known to be trusted.
 * @returns `undefined` if nobody is trusted
 * @throws Error for an entry that is no address and no network
 */
export function forwardedBy(trusted: TrustedProxies): BaseUrlOf | undefined {
  const trusts = trustIn(trusted);
  if (!trusts) return undefined;
  return (header, connection) => {
    const [xProto, xHost] = [last(header("x-forwarded-proto")), last(header("x-forwarded-host"))];
    const plain = xProto !== undefined || xHost !== undefined;
    const said = plain ? { proto: xProto, host: xHost } : readForwarded(header("forwarded"));
    if (said.proto === undefined && said.host === undefined) return undefined;
    const { remoteAddress = thisMachine, encrypted = false } = connection ?? gone;
    if (!trusts(remoteAddress, 0)) return undefined;
    const proto = (said.proto ?? (encrypted ? "https" : "http")).toLowerCase();
    // Over HTTP/2 a `host` beside it counts for nothing (RFC 9113, 8.3.1).
    const host = said.host ?? header(":authority") ?? header("host") ?? "";
    if (!/^https?$/.test(proto) || !hostPattern.test(host)) return undefined;
    const [, prefix = ""] = prefixPattern.exec(last(header("x-forwarded-prefix")) ?? "") ?? [];
    return `${proto}://${host}${prefix}`;
  };
}

/** Whether an entry of the list of trusted proxies can be one. */
export function isNetwork(entry: string): boolean {
  try {
    return Boolean(proxyAddr.compile(entry));
  } catch {
    return false;
  }
}

/** The last of values in a row, `a, b`. */
function last(header: string | undefined): string | undefined {
  return header?.slice(header.lastIndexOf(",") + 1).trim() || undefined;
}

/** The last element of `for=1.2.3.4;proto=https;host="a:1", for=…`. */
function readForwarded(header = ""): { proto?: string; host?: string } {
  let element: { proto?: string; host?: string } = {};
  const pairs = /(^|[;,])\s*([\w-]+)=(?:"((?:[^"\\]|\\.)*)"|([^\s;,"]*))\s*/g;
  for (const [, before, name = "", quoted, token = ""] of header.matchAll(pairs)) {
    if (before === ",") element = {};
    const value = quoted?.replace(/\\(.)/g, "$1") ?? token;
    const key = name.toLowerCase();
    if (key === "proto" || key === "host") element[key] = value;
  }
  return element;
}
