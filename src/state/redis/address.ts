/** What an address of Redis says. */
import type { RedisOptions } from "ioredis";

/** User, password and whether TLS is spoken, for those whose address is found otherwise. */
export function optionsOf(
  address: string,
): Partial<Pick<RedisOptions, "username" | "password" | "tls">> {
  const { protocol, username, password } = new URL(address);
  return {
    ...(username && { username: decodeURIComponent(username) }),
    ...(password && { password: decodeURIComponent(password) }),
    ...(protocol === "rediss:" && { tls: {} }),
  };
}

/** The host, as a connection takes it. */
export const hostOf = (address: string): string =>
  decodeURIComponent(new URL(address).hostname).replace(/^\[(.*)\]$/, "$1");
