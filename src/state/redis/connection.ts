/** The connection to Redis or Valkey, and whether it can be counted on. */
import { performance } from "node:perf_hooks";
import { Cluster, Redis, type RedisOptions } from "ioredis";
import type { Logger } from "../../core/log.js";

/** Where the store is, and how long anybody waits for it. */
export interface RedisSettings {
  /** `redis://` or `rediss://` address; several are nodes of one cluster. */
  readonly url: string | readonly string[];
  /** What all keys begin with. Default `lintel:`. */
  readonly keyPrefix?: string | undefined;
  /** Longest wait for one answer, milliseconds. Default 250. */
  readonly timeoutMs?: number | undefined;
  /** PEM, for `rediss://`. Default: the system's certificate authorities, no certificate of our own. */
  readonly tls?: {
    readonly ca?: string | undefined;
    readonly cert?: string | undefined;
    readonly key?: string | undefined;
  };
}

/** What the stores ask: one server, or a cluster. */
export type RedisClient = Redis | Cluster;

/** The store did not answer in time. */
class TooLate extends Error {
  override readonly name = "TooLate";
}

/** The store is away, and was not asked. */
class StoreAway extends Error {
  override readonly name = "StoreAway";
}

const firstProbeMs = 50;
const longestProbeMs = 1000;
/** So many late answers in a row mean that the store is as good as away. */
const mostLate = 10;
/** After this long without an outage the next one is probed for as quickly as the first. */
const calmMs = 30_000;

/**
 * A connection that nobody waits for: after one failure it counts as away, and
 * whoever asks hears so at once, until a probe in the background succeeded. Said
 * in the log when it goes and when it comes back.
 */
export class RedisConnection {
  readonly client: RedisClient;
  readonly keyPrefix: string;
  readonly #log: Logger;
  readonly #timeoutMs: number;
  readonly #back: (() => void)[] = [];
  #decided: (() => void) | undefined;
  #available = false;
  #said = false;
  #outages = 0;
  #probeMs = firstProbeMs;
  #cameBackAt = 0;
  #probe: NodeJS.Timeout | undefined;
  /** When something was answered last, by the clock of `performance`. */
  #answeredAt = 0;
  #late = 0;
  #closed = false;

  constructor(settings: RedisSettings, log: Logger) {
    this.keyPrefix = settings.keyPrefix ?? "lintel:";
    this.#log = log;
    this.#timeoutMs = settings.timeoutMs ?? 250;
    this.client = connect(settings);
    // Without a listener the library writes to the console.
    this.client.on("error", (error: Error) => this.#fail(error));
    this.client.on("close", () => this.#fail(new Error("the connection was closed")));
    this.client.on("ready", () => void this.#try());
  }

  /** Whether the store answered when it was asked last. */
  get available(): boolean {
    return this.#available;
  }

  /** How often it went away, a start without it included. */
  get outages(): number {
    return this.#outages;
  }

  /** Calls `listener` whenever the store is there, also for the first time. */
  onAvailable(listener: () => void): void {
    this.#back.push(listener);
    if (this.#available) listener();
  }

  /** Resolves once it is known whether the store is there; after `ms` it counts as away. */
  async settled(ms: number): Promise<void> {
    if (this.#available || this.#said) return;
    const timer = setTimeout(() => this.#fail(new Error("it can't be reached")), ms);
    await new Promise<void>((resolve) => {
      this.#decided = resolve;
    });
    clearTimeout(timer);
  }

  /**
   * Asks the store.
   * @throws StoreAway at once if it is away, and what the client threw if it just went
   */
  async ask<T>(command: (client: RedisClient) => Promise<T>): Promise<T> {
    if (!this.#available) throw new StoreAway("the store is away");
    try {
      const answer = await this.#inTime(command(this.client));
      this.#late = 0;
      return answer;
    } catch (error) {
      // A store that answers others is there, if slow: this one goes without it.
      const lately = performance.now() - this.#answeredAt < this.#timeoutMs / 2;
      const slow = error instanceof TooLate && lately && ++this.#late < mostLate;
      if (!slow) this.#fail(error as Error);
      throw error;
    }
  }

  /** The answer, or `TooLate`. What came while this process was busy is in time. */
  #inTime<T>(answer: Promise<T>): Promise<T> {
    return new Promise<T>((resolve, reject) => {
      const timer = setTimeout(() => {
        // Sockets are read between timers and immediates.
        setImmediate(() => reject(new TooLate(`no answer within ${this.#timeoutMs} ms`)));
      }, this.#timeoutMs);
      answer.then(
        (value) => {
          clearTimeout(timer);
          this.#answeredAt = performance.now();
          resolve(value);
        },
        (error: unknown) => {
          clearTimeout(timer);
          reject(error);
        },
      );
    });
  }

  /** Ends the connection, once what was asked is answered. */
  async close(): Promise<void> {
    this.#closed = true;
    clearTimeout(this.#probe);
    if (this.#available) await this.client.quit().catch(() => {});
    this.client.disconnect();
    this.#available = false;
  }

  #fail(error: Error): void {
    if (this.#closed) return;
    if (this.#available || !this.#said) {
      this.#outages++;
      this.#said = true;
      this.#log.warn(
        { store: "redis", reason: error.message },
        "the store is away: deciding without it until it is back",
      );
    }
    if (this.#available && performance.now() - this.#cameBackAt > calmMs)
      this.#probeMs = firstProbeMs;
    this.#available = false;
    this.#decided?.();
    this.#probe ??= this.#probeLater();
  }

  #probeLater(): NodeJS.Timeout {
    const wait = this.#probeMs;
    this.#probeMs = Math.min(2 * wait, longestProbeMs);
    return setTimeout(() => {
      this.#probe = undefined;
      void this.#try();
    }, wait).unref();
  }

  /** A write, since a server without memory or without a primary still answers pings. */
  async #try(): Promise<void> {
    if (this.#available || this.#closed) return;
    try {
      await this.#inTime(this.client.set(`${this.keyPrefix}probe`, "1", "PX", 1000));
    } catch (error) {
      this.#fail(error as Error);
      return;
    }
    if (this.#available || this.#closed) return;
    this.#available = true;
    this.#late = 0;
    this.#cameBackAt = performance.now();
    if (this.#said) this.#log.info({ store: "redis" }, "the store is back");
    for (const listener of this.#back) listener();
    this.#decided?.();
  }
}

function connect(settings: RedisSettings): RedisClient {
  const { url, timeoutMs = 250, tls } = settings;
  const options: RedisOptions = {
    connectTimeout: Math.max(timeoutMs, 1000),
    // A peer that is gone without a word: the connection is given up.
    socketTimeout: 20 * timeoutMs,
    // Nobody waits for a connection: a command fails at once where there is none.
    enableOfflineQueue: false,
    autoResendUnfulfilledCommands: false,
    maxRetriesPerRequest: 0,
    retryStrategy: (times) => Math.min(50 * times, longestProbeMs),
    // A primary that became a replica.
    reconnectOnError: (error) => error.message.startsWith("READONLY"),
    ...(tls && { tls }),
  };
  if (typeof url === "string") return new Redis(url, options);
  const { retryStrategy: clusterRetryStrategy, enableOfflineQueue, ...redisOptions } = options;
  return new Cluster([...url], {
    // What is said of TLS stands behind the address's word that it is spoken at all.
    redisOptions: { ...credentialsOf(url[0] ?? ""), ...redisOptions },
    enableOfflineQueue: enableOfflineQueue ?? false,
    clusterRetryStrategy,
    slotsRefreshTimeout: Math.max(timeoutMs, 1000),
  });
}

/** Further nodes of a cluster are found without an address, so they need these apart. */
function credentialsOf(address: string): Partial<RedisOptions> {
  const { protocol, username, password } = new URL(address);
  return {
    ...(username && { username: decodeURIComponent(username) }),
    ...(password && { password: decodeURIComponent(password) }),
    ...(protocol === "rediss:" && { tls: {} }),
  };
}
