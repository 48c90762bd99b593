/** Connections to other servers: direct ones, or through the proxy that is meant for them. */
import type { Dispatcher } from "undici";
import { type ConnectOptions, patientConnector } from "./connect.js";
import { environmentProxies, type HttpProxy, type Proxies } from "./proxy.js";
import { ProxyError, wordsOf } from "./proxy-error.js";
import { isOwnLack } from "./transport-error.js";
import { throughTunnel } from "./tunnel.js";
import { Agent, DecoratorHandler, Pool } from "./undici.js";

/** Options of undici's pools, but for how connections are made. */
type PoolOptions<C extends ConnectOptions> = Omit<Pool.Options, "connect"> & {
  readonly connect: C;
};

/**
 * How long a connection over TLS is kept for the next call, milliseconds, where the server does not
 * say it: less than balancers keep theirs (60 s, as a rule). undici has four seconds, less than
 * servers on Python have, so that calls that come now and then begin with a handshake each.
 */
const keptOverTls = 50_000;

/**
 * A pool of connections for one origin. The time to connect is that until a request can be sent:
 * with a proxy to https: it has the tunnel in it, with one to http: only the way to the proxy.
 */
export function poolTo<C extends ConnectOptions>(
  origin: string,
  options: PoolOptions<C>,
  proxies: Proxies = environmentProxies(),
): Pool {
  const proxy = proxies.for(origin);
  const plain = origin.startsWith("http:");
  if (proxy && plain) return new ForwardingPool(origin, proxy, options);
  const { timeout, tls } = options.connect;
  const connect = proxy ? throughTunnel(proxy, timeout, tls) : patientConnector(options.connect);
  return new Pool(origin, {
    ...options,
    connect,
    ...(!plain && { keepAliveTimeout: keptOverTls }),
  });
}

/**
 * Pools for any origins.
 * @param options those of `connect` that are about names are for servers that are reached directly
 */
export function agentTo<C extends ConnectOptions>(
  options: PoolOptions<C>,
  proxies: Proxies = environmentProxies(),
): Agent {
  const factory = (origin: string | URL) => poolTo(String(origin), options, proxies);
  return new Agent({ ...options, factory } as Agent.Options);
}

/** Requests to one http: origin, which are handed to a proxy with their whole addresses. */
class ForwardingPool extends Pool {
  readonly #origin: string;
  readonly #proxy: HttpProxy;

  constructor(origin: string, proxy: HttpProxy, options: PoolOptions<ConnectOptions>) {
    const { timeout, onread } = options.connect;
    const connect = patientConnector({ timeout, ...(onread && { onread }) });
    super(proxy.origin, {
      ...options,
      connect: ({ servername: _ofTarget, ...at }, callback) =>
        connect(at, (...[error, socket]) => {
          if (socket) callback(null, socket);
          else callback(isOwnLack(error) ? error : lost(proxy, error), null);
        }),
    });
    this.#origin = new URL(origin).origin;
    this.#proxy = proxy;
  }

  override dispatch(
    options: Dispatcher.DispatchOptions,
    handler: Dispatcher.DispatchHandler,
  ): boolean {
    const path = `${this.#origin}${options.path}`;
    const headers = this.#headers(options.headers);
    return super.dispatch({ ...options, path, headers }, new Refusals(handler, this.#proxy));
  }

  /** With what the proxy wants to know; the host is that of the target, not the proxy's. */
  #headers(given: Dispatcher.DispatchOptions["headers"]): string[] {
    const pairs = Array.isArray(given) ? given : Object.entries(given ?? {}).flat();
    const named = pairs.some((name, at) => at % 2 === 0 && String(name).toLowerCase() === "host");
    const { authorization } = this.#proxy;
    return [
      ...(pairs as string[]),
      ...(named ? [] : ["host", new URL(this.#origin).host]),
      ...(authorization === undefined ? [] : ["proxy-authorization", authorization]),
    ];
  }
}

/** Tells a proxy's own refusal from an answer of the server behind it. */
class Refusals extends DecoratorHandler {
  readonly #proxy: HttpProxy;

  constructor(handler: Dispatcher.DispatchHandler, proxy: HttpProxy) {
    super(handler);
    this.#proxy = proxy;
  }

  override onResponseStart(
    ...args: Parameters<NonNullable<Dispatcher.DispatchHandler["onResponseStart"]>>
  ): void {
    // undici ends the request with what is thrown here.
    if (args[1] === 407) throw new ProxyError(this.#proxy, "answered with status 407");
    super.onResponseStart(...args);
  }
}

const lost = (proxy: HttpProxy, error: Error) =>
  new ProxyError(proxy, `failed: ${wordsOf(error)}`, { cause: error });
