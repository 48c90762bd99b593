/** The connection to Redis or Valkey, and whether it can be counted on. */
import { performance } from "node:perf_hooks";
import type { Logger } from "../../core/log.js";
import { connect, longestProbeMs, type RedisClient, type RedisSettings } from "./client.js";
import { isClusterNode, NodesCluster } from "./cluster.js";
import { type Keeps, Outages, sectionOf } from "./outages.js";
import { Patience, TooLate } from "./patience.js";

/** The store is away, and was not asked. */
class StoreAway extends Error {
  override readonly name = "StoreAway";
}

const firstProbeMs = 50;
/** So many late answers in a row mean that the store is as good as away. */
const mostLate = 10;
/** Where nothing was answered for so long a sign of life is asked for: servers may close what is silent. */
const idleMs = 10_000;
/** After this long without an outage the next one is probed for as quickly as the first. */
const calmMs = 30_000;

/** Of two keys, as what is asked otherwise: while their slot moves to another node, one alone is answered. */
const probe = "return redis.call('SET', KEYS[1], '1', 'PX', 1000)";

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
  readonly #patience: Patience;
  readonly #outages: Outages;
  readonly #back: (() => void)[] = [];
  #decided: (() => void) | undefined;
  #available = false;
  #probeMs = firstProbeMs;
  #cameBackAt = 0;
  #probe: NodeJS.Timeout | undefined;
  /** When it was seen to last whether the connection is silent. */
  #lookedAt = 0;
  readonly #idle: NodeJS.Timeout;
  #late = 0;
  /** What a probe writes: in a cluster at the node that did not answer, since others may well do. */
  #probed: string;
  #closed = false;

  /**
   * @param keeps what the store is for, in the log
   * @param onFailure what becomes of calls while it is away, in the log
   */
  constructor(
    settings: RedisSettings,
    log: Logger,
    keeps: Keeps = "limits",
    onFailure: "open" | "closed" = "open",
  ) {
    this.keyPrefix = settings.keyPrefix ?? "lintel:";
    this.#probed = `${this.keyPrefix}probe:{${keeps}}`;
    this.#log = log;
    this.#timeoutMs = settings.timeoutMs ?? 250;
    this.#patience = new Patience(this.#timeoutMs);
    this.#outages = new Outages(log, keeps, onFailure);
    this.client = connect(settings);
    // Without a listener the library writes to the console.
    this.client.on("error", (error: Error) => this.#fail(error));
    this.client.on("close", () => this.#fail(new Error("the connection was closed")));
    this.client.on("ready", () => void this.#try());
    // Said by one of the connections to a server.
    if (keeps !== "answers" && !settings.sentinels) {
      this.client.once("ready", () => this.#look(sectionOf(keeps)));
    }
    this.#idle = setInterval(() => this.#breakSilence(), idleMs).unref();
  }

  /** Whether the store answered when it was asked last. */
  get available(): boolean {
    return this.#available;
  }

  /** Whether it did not. */
  get away(): boolean {
    return !this.#available;
  }

  /** How often it went away, a start without it included. */
  get outages(): number {
    return this.#outages.count;
  }

  /** Calls `listener` whenever the store is there, also for the first time. */
  onAvailable(listener: () => void): void {
    this.#back.push(listener);
    if (this.#available) listener();
  }

  /** Resolves once it is known whether the store is there; after `ms` it counts as away. */
  async settled(ms: number): Promise<void> {
    if (this.#available || this.outages > 0) return;
    const timer = setTimeout(() => this.#fail(new Error("it can't be reached")), ms);
    await new Promise<void>((resolve) => {
      this.#decided = resolve;
    });
    clearTimeout(timer);
  }

  /**
   * Asks the store.
   * @param bytes that the question has, or its answer may have, where that is many
   * @param key what it is about, with the tag by which a cluster has its slot; default: the tag is
   *   what the store is for
   * @throws StoreAway at once if it is away, and what the client threw if it just went
   */
  async ask<T>(command: (client: RedisClient) => Promise<T>, bytes = 0, key?: string): Promise<T> {
    if (!this.#available) throw new StoreAway("the store is away");
    try {
      const answer = await this.#patience.inTime(() => command(this.client), bytes);
      this.#late = 0;
      return answer;
    } catch (error) {
      // A store that answers others is there, if slow: this one goes without it.
      const lately = performance.now() - this.#patience.answeredAt < this.#timeoutMs / 2;
      const slow = error instanceof TooLate && lately && ++this.#late < mostLate;
      if (!slow) {
        if (key !== undefined) this.#probed = `${key}:probe`;
        this.#fail(error as Error);
      }
      throw error;
    }
  }

  /** Ends the connection, once what was asked is answered, or its time is over. */
  async close(): Promise<void> {
    this.#closed = true;
    clearTimeout(this.#probe);
    clearInterval(this.#idle);
    // A store that stands still, and was not asked since, does not say that it heard.
    if (this.#available) await this.#patience.inTime(() => this.client.quit()).catch(() => {});
    this.client.disconnect();
    this.#available = false;
  }

  /**
   * A connection that is closed while nothing is asked would be an outage. Of a cluster each node is
   * connected to again as it is asked, but the last one that is closed ends the client's connection: one
   * is kept busy. What it answers is not looked at: the next question may be another node's.
   */
  #breakSilence(): void {
    const silent = this.#patience.answeredAt <= this.#lookedAt;
    this.#lookedAt = performance.now();
    if (silent && this.#available) {
      if (this.client.isCluster) this.client.exists(this.#probed).catch(() => {});
      else this.ask((client) => client.ping()).catch(() => {});
    }
  }

  /** One node of several may well answer, until something is asked that another one keeps. */
  async #look(section: string): Promise<void> {
    if (this.client instanceof NodesCluster || !(await isClusterNode(this.client))) return;
    this.#log.warn(
      { store: "redis" },
      `this Redis is a node of a cluster: ${section}.url must be a list, of one address or more, for the others to be found`,
    );
  }

  #fail(error: Error): void {
    if (this.#closed) return;
    const { client } = this;
    const why = client instanceof NodesCluster ? client.explain(error) : error;
    this.#outages.failed(why, this.#available);
    if (this.#available && performance.now() - this.#cameBackAt > calmMs)
      this.#probeMs = firstProbeMs;
    this.#available = false;
    this.#patience.end();
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

  /**
   * The library goes on with the first database where the server has not the one of the address, or
   * does not let the user have it: there somebody else may count.
   */
  async #select(): Promise<void> {
    const { client } = this;
    if (!(client instanceof NodesCluster) && client.options.db) {
      await client.select(client.options.db);
    }
  }

  /**
   * A write by a script, as what is asked for otherwise: a server without memory or without a primary
   * still answers pings, and one may forbid a user scripts.
   */
  async #try(): Promise<void> {
    if (this.#available || this.#closed) return;
    // The library gives up for good where it is interrupted while it asks sentinels, such as by their
    // word of another primary.
    if (this.client.status === "end") this.client.connect().catch(() => {});
    try {
      const keys = [this.#probed, `${this.#probed}:absent`];
      await this.#patience.inTime(() => this.#select());
      await this.#patience.inTime(() => this.client.eval(probe, keys.length, ...keys));
    } catch (error) {
      this.#fail(error as Error);
      return;
    }
    if (this.#available || this.#closed) return;
    this.#available = true;
    this.#late = 0;
    this.#cameBackAt = performance.now();
    this.#outages.over();
    for (const listener of this.#back) listener();
    this.#decided?.();
  }
}
