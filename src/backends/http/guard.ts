/**
 * Which addresses may be fetched that a model server answered with. Whoever
 * controls such a server, or what it redirects to, must not be able to read
 * what only this machine can reach.
 */
import { lookup as systemLookup } from "node:dns";
import { isIP, type LookupFunction } from "node:net";
import type { Dispatcher } from "undici";
import { LintelError } from "../../core/errors.js";
import { withoutBrackets } from "../../hostname.js";
import { isPublicAddress } from "./address-class.js";
import type { ClientTls } from "./client-tls.js";
import { agentTo } from "./pools.js";
import { environmentProxies, type Proxies } from "./proxy.js";
import type { Agent } from "./undici.js";

/** What a guard goes by. */
export interface GuardOptions {
  /** Origins of the server itself; they may be private. */
  readonly own: readonly string[];
  /** Entries that match `allowPattern`. */
  readonly allow: readonly string[];
  /** Longest time to connect, milliseconds. */
  readonly connectTimeout?: number;
  /** How names become addresses. Default: the system's way. */
  readonly lookup?: LookupFunction;
  /** Default: the environment's. */
  readonly proxies?: Proxies | undefined;
  /** For the server itself alone. Default: what Node trusts, and no certificate to show. */
  readonly tls?: ClientTls | undefined;
}

/** Lets requests through to the server itself and to what is allowed, and to nothing else. */
export class Guard {
  readonly #own: Set<string>;
  readonly #origins: ReadonlySet<string>;
  readonly #hosts: readonly string[];
  readonly #itself: Agent;
  readonly #anywhere: Agent;
  readonly #public: Agent;
  readonly #lookup: LookupFunction;
  readonly #proxies: Proxies;

  constructor({
    own,
    allow,
    connectTimeout = 5000,
    lookup = systemLookup,
    proxies = environmentProxies(),
    tls,
  }: GuardOptions) {
    this.#own = new Set(own.map((text) => new URL(text).origin));
    const [whole, hosts] = [allow.filter(isOrigin), allow.filter((entry) => !isOrigin(entry))];
    this.#origins = new Set(whole.map((text) => new URL(text).origin));
    this.#hosts = hosts.map((host) => host.toLowerCase());
    const options = { timeout: connectTimeout };
    this.#lookup = publicOnly(lookup);
    this.#proxies = proxies;
    this.#anywhere = agentTo({ connect: { ...options, lookup } }, proxies);
    this.#itself = tls
      ? agentTo({ connect: { ...options, lookup, tls } }, proxies)
      : this.#anywhere;
    this.#public = agentTo({ connect: { ...options, lookup: this.#lookup } }, proxies);
  }

  /** From now on an origin is the server's own. */
  trust(origin: string): void {
    this.#own.add(origin);
  }

  /** Whether an address is on one of the server's own origins. */
  isOwn(url: URL): boolean {
    return this.#own.has(url.origin);
  }

  /**
   * How to reach an address.
   * @param redirected whether a redirect led there: then only the server itself may be private
   * @throws LintelError `upstream_failed` if it may not be fetched
   */
  async admit(url: URL, redirected: boolean): Promise<Dispatcher> {
    if (url.protocol !== "http:" && url.protocol !== "https:") throw refused(url, "its scheme");
    if (url.username !== "" || url.password !== "") throw refused(url, "a password in it");
    if (this.isOwn(url)) return this.#itself;
    const named = this.#origins.has(url.origin);
    if (!named && !this.#allowsHost(url)) throw refused(url, "not the server's, nor allowed");
    if (named && !redirected) return this.#anywhere;
    const literal = withoutBrackets(url.hostname);
    // No name is looked up for an address: what the lookup would refuse is refused here.
    if (isIP(literal) !== 0 && !isPublicAddress(literal)) throw refused(url, "not public");
    if (isIP(literal) === 0 && this.#proxies.for(url)) await this.#looksPublic(literal);
    return this.#public;
  }

  /**
   * Looks a name up that a proxy will look up again: what is known here to be private is refused.
   * Behind a proxy this machine may know no names, and then that of the proxy counts.
   */
  #looksPublic(hostname: string): Promise<void> {
    return new Promise((resolve, reject) => {
      this.#lookup(hostname, { all: true }, (error) => {
        if (error instanceof LintelError) reject(error);
        else resolve();
      });
    });
  }

  /** Ends every connection. */
  async close(): Promise<void> {
    const all = new Set([this.#itself, this.#anywhere, this.#public]);
    await Promise.all([...all].map((agent) => agent.destroy()));
  }

  #allowsHost({ protocol, port, hostname }: URL): boolean {
    if (protocol !== "https:" || port !== "") return false;
    return this.#hosts.some((entry) =>
      entry.startsWith("*.") ? hostname.endsWith(entry.slice(1)) : hostname === entry,
    );
  }
}

const isOrigin = (entry: string) => entry.includes("://");

/**
 * A lookup that knows public addresses only. The connection is made to the
 * address that was checked, so a name can't become another one in between.
 */
function publicOnly(lookup: LookupFunction): LookupFunction {
  return (hostname, options, callback) => {
    lookup(hostname, { ...options, all: true }, (error, found) => {
      if (error) return callback(error, "");
      const all = Array.isArray(found) ? found : [{ address: found, family: isIP(found) }];
      const fit = all.filter(({ address }) => isPublicAddress(address));
      const [first] = fit;
      // One private address among public ones is no accident.
      if (!first || fit.length < all.length) {
        return callback(refused(new URL(`https://${hostname}`), "not public"), "");
      }
      if (options.all) callback(null, fit);
      else callback(null, first.address, first.family);
    });
  };
}

function refused(url: URL, why: string): LintelError {
  return new LintelError(
    "upstream_failed",
    "the model server answered with the address of an image that may not be fetched",
    { cause: new Error(`${url.origin} may not be fetched: ${why}. See allow_hosts.`) },
  );
}
