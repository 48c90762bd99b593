/** Requests to one model server over a pool of kept connections. */

import type { Dispatcher } from "undici";
import type { CallSignal } from "../../core/cancellation.js";
import { LintelError } from "../../core/errors.js";
import { Roster } from "../../core/roster.js";
import type { Answer } from "./answer.js";
import type { ClientTls } from "./client-tls.js";
import { Exchange } from "./exchange.js";
import { poolTo } from "./pools.js";
import type { Proxies } from "./proxy.js";
import { intoSharedBuffer } from "./reading.js";
import { Renewed } from "./renewed.js";
import { bodyBytes } from "./request-body.js";
import type { Pool } from "./undici.js";
import { userAgent } from "./user-agent.js";

/** Limits of a transport; times in milliseconds. */
export interface TransportOptions {
  /** Scheme, host and port. */
  readonly origin: string;
  /** Sent with every request. */
  readonly headers: Readonly<Record<string, string>>;
  readonly timeouts: {
    readonly connect: number;
    /** From the request to the first byte of the answer's body; 0: any time. */
    readonly first: number;
    /** Between two reads after it; 0: any time. */
    readonly idle: number;
  };
  /** Most connections at once. */
  readonly connections: number;
  /** Default: the environment's. */
  readonly proxies?: Proxies | undefined;
  /** Default: what Node trusts, and no certificate to show. */
  readonly tls?: ClientTls | undefined;
}

/** A request. */
export interface Request {
  readonly method: "GET" | "POST";
  /** With its query. */
  readonly path: string;
  /** JSON. */
  readonly body?: string | Uint8Array;
  /** Sent with this request besides the transport's own; names in lower case. */
  readonly headers?: Readonly<Record<string, string>>;
  /** Media types that are understood. Default: JSON and event streams. */
  readonly accept?: string;
  readonly signal: CallSignal;
  /** Overrides the time to the first byte, milliseconds. */
  readonly timeout?: number;
  /**
   * Time to a connection, milliseconds, where it is shorter than the server's own. It does
   * not count for a request that waits because as many run as there may be connections.
   */
  readonly connect?: number | undefined;
  /** Overrides the time between two reads, milliseconds. */
  readonly idle?: number;
  /**
   * Whether it asks how the server is, or what it has: it waits for no call to be done, since calls
   * that run, however many, are no sign that the server is away.
   */
  readonly aside?: boolean;
}

const json = "application/json, text/event-stream";

/** Headers by their names in lower case, as those are that requests bring themselves. */
export const byLowerName = (headers: Readonly<Record<string, string>>): Record<string, string> =>
  Object.fromEntries(Object.entries(headers).map(([name, value]) => [name.toLowerCase(), value]));

/** Speaks to one origin. Redirects are not followed: an operator names the server that is meant. */
export class Transport {
  readonly #pool: Renewed<Pool>;
  readonly #options: TransportOptions;
  readonly #running = new Roster<Exchange>();
  /** Those that run beside them, over a connection of their own, which is made when it is needed. */
  readonly #aside = new Set<Exchange>();
  readonly #spare: Renewed<Pool>;
  /**
   * Requests for which there is no connection yet. The pool has a queue of its own, from which
   * nobody can leave: beside a server that hangs it would fill with what those asked who have left.
   */
  readonly #waiting = new Map<Exchange, Dispatcher.DispatchOptions>();
  /** Headers of most requests, made once. */
  readonly #usual: string[];
  #closed: LintelError | undefined;

  constructor(options: TransportOptions) {
    this.#options = options;
    this.#usual = this.#headers(json, undefined, true);
    this.#pool = new Renewed(() => poolOf(options, options.connections));
    this.#spare = new Renewed(() => poolOf(options, 1));
  }

  /**
   * Sends a request; resolves with the head of the answer.
   * @throws LintelError `upstream_unreachable`, `timeout`, `upstream_failed`; the signal's reason
   */
  send({
    method,
    path,
    body,
    headers: own,
    accept = json,
    signal,
    timeout,
    connect,
    idle,
    aside = false,
  }: Request): Promise<Answer> {
    if (signal.aborted) return Promise.reject(signal.reason);
    if (this.#closed) return Promise.reject(this.#closed);
    const { timeouts, origin, connections } = this.#options;
    // Whoever waits until others are done with their connections waits for no server.
    const full = this.#running.size >= connections;
    const waits = full && !aside;
    const exchange = new Exchange(
      signal,
      timeout ?? timeouts.first,
      idle ?? timeouts.idle,
      waits ? undefined : connect,
      this.#over,
    );
    const usual = own === undefined && accept === json && body !== undefined;
    const headers = usual ? this.#usual : this.#headers(accept, own, body !== undefined);
    const bytes = typeof body === "string" ? bodyBytes(body) : (body ?? null);
    const options = { origin, method, path, headers, body: bytes };
    if (waits) this.#waiting.set(exchange, options);
    else if (full) this.#askAside(exchange, options);
    else this.#dispatch(exchange, options);
    return exchange.answer;
  }

  #dispatch(exchange: Exchange, options: Dispatcher.DispatchOptions): void {
    this.#running.add(exchange);
    this.#pool.current.dispatch(options, exchange);
  }

  #askAside(exchange: Exchange, options: Dispatcher.DispatchOptions): void {
    this.#aside.add(exchange);
    this.#spare.current.dispatch(options, exchange);
  }

  readonly #over = (exchange: Exchange): void => {
    if (this.#aside.size > 0 && this.#aside.delete(exchange)) return;
    this.#running.delete(exchange);
    if (this.#waiting.size === 0 || this.#waiting.delete(exchange)) return;
    for (const [next, options] of this.#waiting) {
      if (this.#running.size >= this.#options.connections) return;
      this.#waiting.delete(next);
      this.#dispatch(next, options);
    }
  };

  /** Names and values in turn, of each name the last that was said. */
  #headers(accept: string, own: Request["headers"], body: boolean): string[] {
    const type = body && { "content-type": "application/json" };
    const usual = { accept, "user-agent": userAgent };
    return Object.entries({ ...usual, ...this.#options.headers, ...own, ...type }).flat();
  }

  /** Ends every request and every connection. */
  async close(): Promise<void> {
    this.#closed ??= new LintelError("shutting_down", "the model server's connection was closed");
    // Those that wait first: they would take the places of the others.
    const all = [...this.#waiting.keys(), ...this.#running, ...this.#aside];
    for (const exchange of all) exchange.fail(this.#closed);
    await this.#pool.destroy();
    await this.#spare.destroy();
  }
}

const poolOf = ({ origin, timeouts, proxies, tls }: TransportOptions, connections: number): Pool =>
  poolTo(
    origin,
    {
      connections,
      connect: { timeout: timeouts.connect, onread: intoSharedBuffer, tls },
      // An exchange keeps its own time: undici's can't tell the first byte from the next.
      headersTimeout: 0,
      bodyTimeout: 0,
    },
    proxies,
  );
