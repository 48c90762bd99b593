/** What speaks to Redis or Valkey, and where they are. */
import { Redis, type RedisOptions } from "ioredis";
import { connectToCluster, type NodesCluster } from "./cluster.js";
import { carriedMs } from "./patience.js";
import { connectBySentinels } from "./sentinel.js";
import { gatherWrites } from "./writes.js";

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
export type RedisClient = Redis | NodesCluster;

/** Longest pause between two attempts to connect, or to find out whether the store is back, milliseconds. */
export const longestProbeMs = 1000;

/**
 * After how long without a word the system asks whether the connection is still there, milliseconds:
 * balancers and firewalls forget idle ones after minutes, and tell nobody.
 */
const idleMs = 30_000;

/** A primary that became a replica, or was left alone by those that it has: it may be another one by now. */
const noPrimary = /(^|-)(READONLY|NOREPLICAS)/;

/** Connects, in the background and again and again. */
export function connect(settings: RedisSettings): RedisClient {
  const { url, timeoutMs = 250, largestBytes = 0, tls } = settings;
  const options: RedisOptions = {
    connectTimeout: Math.max(timeoutMs, 1000),
    keepAlive: idleMs,
    // Ours is a write. The library's is INFO, which an ACL without dangerous commands forbids: it then
    // writes to the console.
    enableReadyCheck: false,
    // The library tells its name and version first, and calls the connection ready also where it was closed while that
    // was not answered: then it takes itself for connected, and never connects again (ioredis 5.11).
    disableClientInfo: true,
    // A peer that is gone without a word: the connection is given up.
    socketTimeout: 20 * timeoutMs + carriedMs(largestBytes),
    // Nobody waits for a connection: a command fails at once where there is none.
    enableOfflineQueue: false,
    autoResendUnfulfilledCommands: false,
    maxRetriesPerRequest: 0,
    retryStrategy: (times) => Math.min(50 * times, longestProbeMs),
    reconnectOnError: ({ message }) => noPrimary.test(message),
    ...(tls && { tls }),
  };
  if (settings.sentinels) return single(connectBySentinels(settings, options));
  if (typeof url === "string") return single(new Redis(url, options));
  return connectToCluster(url, timeoutMs, options);
}

function single(redis: Redis): Redis {
  gatherWrites(redis);
  return endingWaits(redis);
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
