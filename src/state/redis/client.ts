/** What speaks to Redis or Valkey, and where they are. */
import { Cluster, Redis, type RedisOptions } from "ioredis";
import { optionsOf } from "./address.js";
import { connectBySentinels } from "./sentinel.js";

/** Where the store is, and how long anybody waits for it. */
export interface RedisSettings {
  /** `redis://` or `rediss://` address; several are nodes of one cluster. */
  readonly url: string | readonly string[];
  /**
   * Addresses of the sentinels that know where it is; the host of `url` is then the name by which
   * they know the primary.
   */
  readonly sentinels?: readonly string[] | undefined;
  /** What all keys begin with. Default `lintel:`. */
  readonly keyPrefix?: string | undefined;
  /** Longest wait for one answer, milliseconds. Default 250. */
  readonly timeoutMs?: number | undefined;
  /** Most bytes of one question or one answer, where that is many. Default 0. */
  readonly largestBytes?: number | undefined;
  /** PEM, for `rediss://`. Default: the certificate authorities that Node knows, no certificate of our own. */
  readonly tls?: {
    readonly ca?: string | undefined;
    readonly cert?: string | undefined;
    readonly key?: string | undefined;
  };
}

/** What the stores ask: one server, or a cluster. */
export type RedisClient = Redis | Cluster;

/** Longest pause between two attempts to connect, or to find out whether the store is back, milliseconds. */
export const longestProbeMs = 1000;

/**
 * After how long without a word the system asks whether the connection is still there, milliseconds:
 * balancers and firewalls forget idle ones after minutes, and tell nobody.
 */
const idleMs = 30_000;

/** What a slow link carries in a millisecond. */
const bytesPerMs = (4 * 1024 * 1024) / 1000;

/** How much longer an answer may take for what has to be carried with it, or before it. */
export const carriedMs = (bytes: number) => Math.ceil(bytes / bytesPerMs);

/** Connects, in the background and again and again. */
export function connect(settings: RedisSettings): RedisClient {
  const { url, timeoutMs = 250, largestBytes = 0, tls } = settings;
  const options: RedisOptions = {
    connectTimeout: Math.max(timeoutMs, 1000),
    keepAlive: idleMs,
    // Ours is a write. The library's is INFO, which an ACL without dangerous commands forbids: it then
    // writes to the console.
    enableReadyCheck: false,
    // A peer that is gone without a word: the connection is given up.
    socketTimeout: 20 * timeoutMs + carriedMs(largestBytes),
    // Nobody waits for a connection: a command fails at once where there is none.
    enableOfflineQueue: false,
    autoResendUnfulfilledCommands: false,
    maxRetriesPerRequest: 0,
    retryStrategy: (times) => Math.min(50 * times, longestProbeMs),
    // A primary that became a replica.
    reconnectOnError: (error) => /(^|-)READONLY/.test(error.message),
    ...(tls && { tls }),
  };
  if (settings.sentinels) return endingWaits(connectBySentinels(settings, options));
  if (typeof url === "string") return endingWaits(new Redis(url, options));
  const { retryStrategy: clusterRetryStrategy, enableOfflineQueue, ...redisOptions } = options;
  const cluster = new Cluster([...url], {
    // Further nodes are found without an address. What is said of TLS stands behind the address's
    // word that it is spoken at all.
    redisOptions: { ...optionsOf(url[0] ?? ""), ...redisOptions },
    enableOfflineQueue: enableOfflineQueue ?? false,
    clusterRetryStrategy,
    // Names stay names: certificates are for them, and what they stand for may change.
    dnsLookup: (name, found) => found(null, name),
    slotsRefreshTimeout: Math.max(timeoutMs, 1000),
  });
  return tellingWhy(cluster);
}

/**
 * Of a connection that it makes to learn of the slots, the library says only that it was closed: not
 * that nobody is there, nor what is wrong with a certificate.
 */
function tellingWhy(cluster: Cluster): Cluster {
  let why: Error | undefined;
  cluster.on("+node", (node: Redis) => {
    const duplicate = node.duplicate.bind(node);
    node.duplicate = (options) => {
      const copy = duplicate(options);
      copy.on("error", (error: Error) => {
        why = error;
      });
      return copy;
    };
  });
  cluster.on("error", (error: Error) => {
    error.cause ??= why;
    why = undefined;
  });
  return cluster;
}

/**
 * Ends the wait for an answer with the connection that it was asked over. ioredis before 6 goes on
 * with it, and when it is over ends the connection of then, whatever that answered. Nodes of a
 * cluster never connect again.
 */
function endingWaits(redis: Redis): Redis {
  const waiting = redis as unknown as { socketTimeoutTimer: NodeJS.Timeout | undefined };
  redis.on("close", () => {
    clearTimeout(waiting.socketTimeoutTimer);
    waiting.socketTimeoutTimer = undefined;
  });
  return redis;
}
