/** A cluster of Redis or Valkey, found by some of its nodes. */
import { performance } from "node:perf_hooks";
import { Cluster, type ClusterOptions, type Redis, type RedisOptions } from "ioredis";
import { hostOf, optionsOf } from "./address.js";
import { gatherWrites } from "./writes.js";

/**
 * How often a question is sent on: to whom a slot went, or again where its keys are on their way. The
 * library's sixteen take longer than anybody waits, and say nothing of what was in the way.
 */
const mostRedirections = 6;

/**
 * Connects to it.
 * @param nodes addresses of some nodes
 * @param timeoutMs longest wait for one answer
 * @param common what is said of every connection
 */
export function connectToCluster(
  nodes: readonly string[],
  timeoutMs: number,
  common: RedisOptions,
): NodesCluster {
  const { retryStrategy: clusterRetryStrategy, enableOfflineQueue, ...redisOptions } = common;
  const againMs = Math.ceil(timeoutMs / (2 * mostRedirections));
  return new NodesCluster(nodes, {
    // Further nodes are found without an address. What is said of TLS stands behind the address's
    // word that it is spoken at all.
    redisOptions: { ...optionsOf(nodes[0] ?? ""), ...redisOptions },
    enableOfflineQueue: enableOfflineQueue ?? false,
    clusterRetryStrategy,
    // Names stay names: certificates are for them, and what they stand for may change.
    dnsLookup: (name, found) => found(null, name),
    slotsRefreshTimeout: Math.max(timeoutMs, 1000),
    maxRedirections: mostRedirections,
    retryDelayOnTryAgain: againMs,
    retryDelayOnClusterDown: againMs,
    retryDelayOnFailover: againMs,
  });
}

/** Where a server listens, if its address does not say. */
const usualPort = "6379";

/** What the library says where a node said more. */
const vague =
  /^(the connection was closed|Connection is closed|Failed to refresh slots cache|None of startup nodes|Cluster isn't ready)/;

/** How long what a node said may be what is behind an error, milliseconds. */
const behindMs = 5000;

/** A node that can't be reached where it says it is. */
class NodeElsewhere extends Error {
  override readonly name = "NodeElsewhere";
  /** So that it is said while an outage goes on, too. */
  readonly code = "node elsewhere";

  constructor(node: string, cause: Error) {
    const settings = "cluster-announce-ip, -port and -hostname there";
    const where = "at this address, which it announces";
    super(`the cluster's node ${node} can't be reached ${where} (${settings})`, { cause });
  }
}

/** A cluster that knows why: the library says only that connections were closed, or that there is no node. */
export class NodesCluster extends Cluster {
  #why: { readonly error: Error; readonly at: number } | undefined;

  constructor(nodes: readonly string[], options: ClusterOptions) {
    super([...nodes], options);
    const listed = new Set(
      nodes.map((address) => `${hostOf(address)}:${new URL(address).port || usualPort}`),
    );
    const keep = (error: Error) => {
      if (!vague.test(error.message)) this.#why = { error, at: performance.now() };
    };
    this.on("node error", (error: Error, node: string) =>
      keep(listed.has(node) || !("syscall" in error) ? error : new NodeElsewhere(node, error)),
    );
    // Of the connections that it makes to learn of the slots, the library keeps errors to itself.
    this.on("+node", (node: Redis) => {
      gatherWrites(node);
      const duplicate = node.duplicate.bind(node);
      node.duplicate = (more) => {
        const copy = duplicate(more);
        copy.on("error", (error: Error) => {
          const { host, port } = copy.options;
          this.emit("node error", error, `${host}:${port}`);
        });
        return copy;
      };
    });
  }

  /** An error of the cluster, with what is behind it as its cause. */
  explain(error: Error): Error {
    const why = this.#why;
    if (!why || !vague.test(error.message) || performance.now() - why.at > behindMs) return error;
    this.#why = undefined;
    return new Error(error.message, { cause: why.error });
  }
}

/** Whether a server is a node of a cluster, as far as it says. */
export async function isClusterNode(server: Redis): Promise<boolean> {
  // What every user may ask. Redis before 6 and some proxies don't know it.
  const about = await server.call("HELLO").catch(() => []);
  if (!Array.isArray(about)) return false;
  return about[about.indexOf("mode") + 1] === "cluster";
}
