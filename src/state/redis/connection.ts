/** The connection to Redis or Valkey, and whether it can be counted on. */
import { performance } from "node:perf_hooks";
import type { Logger } from "../../core/log.js";
import { OutageReasons } from "../../core/outage.js";
import {
  carriedMs,
  connect,
  longestProbeMs,
  type RedisClient,
  type RedisSettings,
} from "./client.js";

/** The store did not answer in time. */
class TooLate extends Error {
  override readonly name = "TooLate";
}

/** The store is away, and was not asked. */
class StoreAway extends Error {
  override readonly name = "StoreAway";
}

/** Calls that can't go on without it, where the operator closed on it. */
const refused = {
  limits: "calls that would have to be counted",
  answers: "calls with an Idempotency-Key",
};

const firstProbeMs = 50;
/** So many late answers in a row mean that the store is as good as away. */
const mostLate = 10;
/** Where nothing was answered for so long a sign of life is asked for: servers may close what is silent. */
const idleMs = 10_000;
/** After this long without an outage the next one is probed for as quickly as the first. */
const calmMs = 30_000;

const probe = "return redis.call('SET', KEYS[1], '1', 'PX', 1000)";

/**
 * What the client says where it has no connection speaks of its own options; of a cluster it says
 * nothing, but has what a node said.
 */
function inOurWords(error: Error): Error {
  const { lastNodeError } = error as { readonly lastNodeError?: unknown };
  if (lastNodeError instanceof Error && error.cause === undefined) {
    return new Error(error.message, { cause: lastNodeError });
  }
  return /enableOfflineQueue/.test(error.message) ? new Error("the connection was closed") : error;
}

/**
 * A connection that nobody waits for: after one failure it counts as away, and
 * whoever asks hears so at once, until a probe in the background succeeded. Said
 * in the log when it goes and when it comes back.
 */
export class RedisConnection {
  readonly client: RedisClient;
  readonly keyPrefix: string;
  readonly #log: Logger;
  readonly #keeps: keyof typeof refused;
  readonly #onFailure: "open" | "closed";
  readonly #timeoutMs: number;
  readonly #back: (() => void)[] = [];
  #decided: (() => void) | undefined;
  #available = false;
  #said = false;
  #outages = 0;
  readonly #reasons = new OutageReasons();
  #probeMs = firstProbeMs;
  #cameBackAt = 0;
  #probe: NodeJS.Timeout | undefined;
  /** When something was answered last, by the clock of `performance`. */
  #answeredAt = 0;
  /** Whether that was since it was seen to last that the connection is not silent. */
  #heard = true;
  readonly #idle: NodeJS.Timeout;
  #late = 0;
  /** Bytes of what is asked now: whatever is asked next comes after them. */
  #carried = 0;
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
    keeps: "limits" | "answers" = "limits",
    onFailure: "open" | "closed" = "open",
  ) {
    this.keyPrefix = settings.keyPrefix ?? "lintel:";
    this.#probed = `${this.keyPrefix}probe:{${keeps}}`;
    this.#log = log;
    this.#keeps = keeps;
    this.#onFailure = onFailure;
    this.#timeoutMs = settings.timeoutMs ?? 250;
    this.client = connect(settings);
    // Without a listener the library writes to the console.
    this.client.on("error", (error: Error) => this.#fail(error));
    this.client.on("close", () => this.#fail(new Error("the connection was closed")));
    this.client.on("ready", () => void this.#try());
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
   * @param bytes that the question has, or its answer may have, where that is many
   * @param key what it is about, with the tag by which a cluster has its slot; default: the tag is
   *   what the store is for
   * @throws StoreAway at once if it is away, and what the client threw if it just went
   */
  async ask<T>(command: (client: RedisClient) => Promise<T>, bytes = 0, key?: string): Promise<T> {
    if (!this.#available) throw new StoreAway("the store is away");
    this.#carried += bytes;
    try {
      const asked = command(this.client).finally(() => {
        this.#carried -= bytes;
      });
      const answer = await this.#inTime(asked);
      this.#late = 0;
      return answer;
    } catch (error) {
      // A store that answers others is there, if slow: this one goes without it.
      const lately = performance.now() - this.#answeredAt < this.#timeoutMs / 2;
      const slow = error instanceof TooLate && lately && ++this.#late < mostLate;
      if (!slow) {
        if (key !== undefined) this.#probed = `${key}:probe`;
        this.#fail(error as Error);
      }
      throw error;
    }
  }

  /** The answer, or `TooLate`. What came while this process was busy is in time. */
  #inTime<T>(answer: Promise<T>): Promise<T> {
    const ms = this.#timeoutMs + carriedMs(this.#carried);
    return new Promise<T>((resolve, reject) => {
      const timer = setTimeout(() => {
        // Sockets are read between timers and immediates.
        setImmediate(() => reject(new TooLate(`no answer within ${ms} ms`)));
      }, ms);
      answer.then(
        (value) => {
          clearTimeout(timer);
          this.#answeredAt = performance.now();
          this.#heard = true;
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
    clearInterval(this.#idle);
    if (this.#available) await this.client.quit().catch(() => {});
    this.client.disconnect();
    this.#available = false;
  }

  /**
   * A connection that is closed while nothing is asked would be an outage. Of a cluster each node is
   * connected to again as it is asked, but the last one that is closed ends the client's connection: one
   * is kept busy. What it answers is not looked at: the next question may be another node's.
   */
  #breakSilence(): void {
    if (!this.#heard && this.#available) {
      if (this.client.isCluster) this.client.exists(this.#probed).catch(() => {});
      else this.ask((client) => client.ping()).catch(() => {});
    }
    this.#heard = false;
  }

  #fail(error: Error): void {
    if (this.#closed) return;
    const told = { store: "redis", keeps: this.#keeps };
    if (this.#available || !this.#said) {
      this.#outages++;
      this.#said = true;
      this.#log.warn(
        { ...told, reason: this.#reasons.begin(inOurWords(error)) },
        this.#onFailure === "open"
          ? "the store is away: deciding without it until it is back"
          : `the store is away: ${refused[this.#keeps]} are refused until it is back`,
      );
    } else {
      const reason = this.#reasons.next(inOurWords(error));
      if (reason !== undefined) this.#log.warn({ ...told, reason }, "the store is still away");
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

  /**
   * A write by a script, as what is asked for otherwise: a server without memory or without a primary
   * still answers pings, and one may forbid a user scripts.
   */
  async #try(): Promise<void> {
    if (this.#available || this.#closed) return;
    try {
      await this.#inTime(this.client.eval(probe, 1, this.#probed));
    } catch (error) {
      this.#fail(error as Error);
      return;
    }
    if (this.#available || this.#closed) return;
    this.#available = true;
    this.#late = 0;
    this.#cameBackAt = performance.now();
    if (this.#said) this.#log.info({ store: "redis", keeps: this.#keeps }, "the store is back");
    for (const listener of this.#back) listener();
    this.#decided?.();
  }
}
