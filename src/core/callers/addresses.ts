/** Addresses from which a token may be used. */
import { BlockList, isIP, isIPv4 } from "node:net";

/** Most entries of a token. */
export const mostNetworks = 100;

/** What each of them has to be. */
export const networkMessage =
  "must be an address or a network of IPv4 or IPv6, such as 203.0.113.7, 10.0.0.0/8 or 2001:db8::/32";

/** Whether a text is an address, or a network with the bits of its prefix. */
export const isNetwork = (text: string): boolean => read(text) !== undefined;

interface Network {
  readonly address: string;
  readonly prefix: number | undefined;
  readonly family: "ipv4" | "ipv6";
}

function read(text: string): Network | undefined {
  const [, address = "", bits] = /^([\da-f:.]+)(?:\/(\d{1,3}))?$/i.exec(text) ?? [];
  if (isIP(address) === 0) return undefined;
  const prefix = bits === undefined ? undefined : Number(bits);
  const family = isIPv4(address) ? "ipv4" : "ipv6";
  return (prefix ?? 0) <= (family === "ipv4" ? 32 : 128) ? { address, prefix, family } : undefined;
}

/** Some of them, to be looked into. */
export class Addresses {
  readonly #list = new BlockList();

  /** @param networks of which `isNetwork` is true; others let nobody in */
  constructor(networks: readonly string[]) {
    for (const network of networks) {
      const { address, prefix, family } = read(network) ?? {};
      if (address === undefined) continue;
      if (prefix === undefined) this.#list.addAddress(address, family);
      else this.#list.addSubnet(address, prefix, family);
    }
  }

  /** @param address absent: it is not known, as of a Unix socket, and nobody's */
  has(address: string | undefined): boolean {
    if (address === undefined) return false;
    return this.#list.check(address, isIPv4(address) ? "ipv4" : "ipv6");
  }
}
