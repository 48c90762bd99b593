/**
 * Which proxy a request to another server goes through, as the environment says: `HTTPS_PROXY`
 * for https: targets, `HTTP_PROXY` for http: ones, and `NO_PROXY` for those that are reached
 * directly. Names in lower case win, as with curl. This machine is always reached directly.
 */

import { BlockList, isIP } from "node:net";
import { withoutBrackets } from "../../hostname.js";

/** Environment variables. */
export type Env = Readonly<Record<string, string | undefined>>;

/** A proxy. */
export interface HttpProxy {
  /** `http:` or `https:`: how it is spoken to itself. */
  readonly protocol: string;
  /** Without brackets. */
  readonly hostname: string;
  readonly port: number;
  /** Scheme, host and port, without user and password. */
  readonly origin: string;
  /** What is sent as `Proxy-Authorization`; absent: nothing. */
  readonly authorization?: string;
  /** The variable that it was read from. */
  readonly variable: string;
}

/** A value that names no proxy. */
export interface ProxyProblem {
  /** The variable. */
  readonly field: string;
  readonly message: string;
}

/** Whether a target is meant, by its name or address in lower case, and its port. */
type Rule = (hostname: string, port: number) => boolean;

const schemes = { "http:": "http_proxy", "https:": "https_proxy" } as const;
const usualPorts: Readonly<Record<string, number>> = { "http:": 80, "https:": 443 };

/** The port of an address, or the usual one of its scheme. */
export const portOf = ({ protocol, port }: Pick<URL, "protocol" | "port">): number =>
  Number(port) || (usualPorts[protocol] ?? 0);

/** The proxies of an environment. */
export class Proxies {
  /** By the scheme of the target. */
  readonly #proxies = new Map<string, HttpProxy>();
  readonly #direct: readonly Rule[];

  /** @param env values that name no proxy count as none: `proxyProblems` tells of them */
  constructor(env: Env) {
    for (const [scheme, name] of Object.entries(schemes)) {
      const { variable, value } = read(env, name);
      const proxy = value && proxyAt(value, variable);
      if (proxy) this.#proxies.set(scheme, proxy);
    }
    this.#direct = this.any ? rulesOf(read(env, "no_proxy").value) : [];
  }

  /** Whether there is any. */
  get any(): boolean {
    return this.#proxies.size > 0;
  }

  /** The proxy for an address; absent: it is reached directly. */
  for(address: string | URL): HttpProxy | undefined {
    if (!this.any) return undefined;
    const url = new URL(address);
    const proxy = this.#proxies.get(url.protocol);
    if (!proxy) return undefined;
    const name = bare(url.hostname);
    const port = portOf(url);
    if (isThisMachine(name) || this.#direct.some((rule) => rule(name, port))) return undefined;
    return proxy;
  }
}

let ofProcess: Proxies | undefined;

/** The proxies of this process's environment, as it was when they were first asked for. */
export function environmentProxies(): Proxies {
  ofProcess ??= new Proxies(process.env);
  return ofProcess;
}

/** A line for each variable that counts and names no proxy. What stands there is not told: it may have a password. */
export function proxyProblems(env: Env): ProxyProblem[] {
  return Object.values(schemes).flatMap((name) => {
    const { variable, value } = read(env, name);
    if (!value || proxyAt(value, variable)) return [];
    const message =
      "must be the address of a proxy with http: or https:, such as http://proxy.example:3128";
    return [{ field: variable, message }];
  });
}

/** What the variables of proxies hold, for taking their passwords out of logs. */
export const proxyAddresses = (env: Env): string[] =>
  Object.values(schemes).map((name) => read(env, name).value);

/** A variable in lower case, else in upper case. One that is empty counts, as with curl, as one that is not there. */
function read(env: Env, name: string): { readonly variable: string; readonly value: string } {
  const variable = env[name]?.trim() ? name : name.toUpperCase();
  return { variable, value: env[variable]?.trim() ?? "" };
}

function proxyAt(text: string, variable: string): HttpProxy | undefined {
  // Without slashes it may be a host and a port, whose host passes for a scheme.
  if (!/^https?:\/\/[^/?#]/i.test(text) || !URL.canParse(text)) return undefined;
  const url = new URL(text);
  const { protocol, hostname, host, username, password } = url;
  const credentials = `${decoded(username)}:${decoded(password)}`;
  return {
    protocol,
    hostname: withoutBrackets(hostname),
    port: portOf(url),
    origin: `${protocol}//${host}`,
    ...(credentials !== ":" && {
      authorization: `Basic ${Buffer.from(credentials).toString("base64")}`,
    }),
    variable,
  };
}

/** As it was meant; a `%` that begins no escape is one. */
function decoded(text: string): string {
  try {
    return decodeURIComponent(text);
  } catch {
    return text;
  }
}

/** In lower case, without the brackets of an address or the dot of a full name. */
const bare = (hostname: string) => withoutBrackets(hostname.toLowerCase()).replace(/\.$/, "");

const thisMachine = new BlockList();
thisMachine.addSubnet("127.0.0.0", 8, "ipv4");
thisMachine.addAddress("::1", "ipv6");
// What listens everywhere; whoever connects to it reaches this machine.
thisMachine.addAddress("0.0.0.0", "ipv4");
thisMachine.addAddress("::", "ipv6");

const isThisMachine = (name: string) =>
  name === "localhost" || name.endsWith(".localhost") || isAmong(thisMachine, name);

/** Also where an address of IPv4 is written as one of IPv6. */
function isAmong(list: BlockList, name: string): boolean {
  const version = isIP(name);
  return version !== 0 && list.check(name, version === 6 ? "ipv6" : "ipv4");
}

/** The rules of `NO_PROXY`. What can't be understood matches nothing. */
const rulesOf = (text: string): Rule[] => text.split(/[\s,]+/).flatMap((entry) => ruleOf(entry));

function ruleOf(entry: string): Rule | [] {
  if (entry === "") return [];
  if (entry === "*") return () => true;
  const [, address = "", length] = /^(.*)\/(\d{1,3})$/.exec(entry) ?? [];
  if (length !== undefined) return networkRule(address, Number(length));
  const [, host = entry, port] =
    isIP(entry) === 6 ? [] : (/^(\[.*\]|[^:]*):(\d{1,5})$/.exec(entry) ?? []);
  const hasPort = (number: number) => port === undefined || number === Number(port);
  const name = bare(host.replace(/^\*?\./, ""));
  if (name === "") return [];
  const version = isIP(name);
  if (version === 0) {
    const suffix = `.${name}`;
    return (hostname, number) =>
      hasPort(number) && (hostname === name || hostname.endsWith(suffix));
  }
  const only = networkRule(name, version === 6 ? 128 : 32);
  return typeof only === "function" ? (at, number) => hasPort(number) && only(at, number) : [];
}

function networkRule(text: string, length: number): Rule | [] {
  const address = bare(text);
  const version = isIP(address);
  if (version === 0 || length > (version === 6 ? 128 : 32)) return [];
  const list = new BlockList();
  list.addSubnet(address, length, version === 6 ? "ipv6" : "ipv4");
  return (hostname) => isAmong(list, hostname);
}
