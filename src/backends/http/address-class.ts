/** Tells addresses of the public internet from all others. */
import { BlockList, isIP } from "node:net";

/** IPv4 networks that are not the public internet: IANA's special-purpose registry, multicast, reserved. */
const special4 = [
  "0.0.0.0/8",
  "10.0.0.0/8",
  "100.64.0.0/10",
  "127.0.0.0/8",
  "169.254.0.0/16",
  "172.16.0.0/12",
  "192.0.0.0/24",
  "192.0.2.0/24",
  "192.88.99.0/24",
  "192.168.0.0/16",
  "198.18.0.0/15",
  "198.51.100.0/24",
  "203.0.113.0/24",
  "224.0.0.0/3",
];

/** Within 2000::/3, the only public range of IPv6: what is special, or carries an IPv4 address inside. */
const special6 = ["2001::/23", "2001:db8::/32", "2002::/16", "3fff::/20"];

function listOf(networks: readonly string[], family: "ipv4" | "ipv6"): BlockList {
  const list = new BlockList();
  for (const network of networks) {
    const [address = "", prefix] = network.split("/");
    list.addSubnet(address, Number(prefix), family);
  }
  return list;
}

const notPublic4 = listOf(special4, "ipv4");
const notPublic6 = listOf(special6, "ipv6");
const global6 = listOf(["2000::/3"], "ipv6");
const mapped = listOf(["::ffff:0:0/96"], "ipv6");

/**
 * Whether an IP address belongs to the public internet: not private, not of
 * this machine or link, not reserved, not multicast.
 */
export function isPublicAddress(address: string): boolean {
  switch (isIP(address)) {
    case 4:
      return !notPublic4.check(address, "ipv4");
    case 6:
      // A mapped IPv4 address is written by the few who want to be mistaken.
      if (mapped.check(address, "ipv6")) return false;
      return global6.check(address, "ipv6") && !notPublic6.check(address, "ipv6");
    default:
      return false;
  }
}
