/** Redis or Valkey that Sentinel watches: with each connection it is asked anew who the primary is. */
import {
  Redis,
  type RedisOptions,
  type SentinelConnectionOptions,
  SentinelConnector,
} from "ioredis";
import { hostOf, optionsOf } from "./address.js";
import type { RedisSettings } from "./client.js";

/** Where sentinels listen, if their address does not say. */
const usualPort = 26_379;

/** Where sentinels say that there is another primary, with the name first. */
const switched = "+switch-master";

/** When a sentinel that is gone is listened to again, milliseconds. */
const watchAgainMs = 10_000;

/**
 * Connects to the primary.
 * @param common what is said of every connection
 */
export function connectBySentinels(
  { url, sentinels = [], tls = {}, timeoutMs = 250 }: RedisSettings,
  common: RedisOptions,
): Redis {
  const address = String(url);
  const primary = optionsOf(address);
  const watching = optionsOf(sentinels[0] ?? "");
  const { pathname } = new URL(address);
  return new Redis({
    ...common,
    Connector: Sentinels,
    sentinels: sentinels.map((one) => {
      return { host: hostOf(one), port: Number(new URL(one).port || usualPort) };
    }),
    name: hostOf(address),
    username: primary.username,
    password: primary.password,
    db: Number(pathname.slice(1)),
    tls: primary.tls && tls,
    enableTLSForSentinelMode: primary.tls !== undefined,
    sentinelUsername: watching.username,
    sentinelPassword: watching.password,
    sentinelTLS: watching.tls && tls,
    // One that is there and says nothing.
    sentinelCommandTimeout: Math.max(timeoutMs, 1000),
    sentinelRetryStrategy: common.retryStrategy ?? undefined,
  });
}

/** None of the sentinels says where the primary is. */
class NoPrimary extends Error {
  override readonly name = "NoPrimary";
  /** So that it is said while an outage goes on, too. */
  readonly code = "no primary";
}

interface Endpoint {
  readonly host: string;
  readonly port: number;
}

const same = (one: Endpoint, other: Endpoint) => one.host === other.host && one.port === other.port;

/** What the library keeps to itself. */
interface Internals {
  connectToSentinel(endpoint: Endpoint, options?: RedisOptions): Redis;
  /** Asks a sentinel for the primary. */
  resolve(endpoint: Endpoint): Promise<Endpoint | null>;
}

/** Asks one after the other, and says of each why it was of no help. */
class Sentinels extends SentinelConnector {
  /** What happened to connections, by the sentinel's address. */
  readonly #failures = new Map<string, string>();
  readonly #watchers: Redis[] = [];
  readonly #ask: Internals["resolve"];
  /** The primary as last told, and by whom. */
  #told: { readonly primary: Endpoint; readonly by: Endpoint } | undefined;

  constructor(options: unknown) {
    super(options as SentinelConnectionOptions);
    const internals = this as unknown as Internals;
    const connectTo = internals.connectToSentinel.bind(this);
    internals.connectToSentinel = (endpoint, more) => {
      const client = connectTo(endpoint, more);
      const { host, port } = endpoint;
      // Whoever asked over it is told only that it was closed.
      client.on("error", (error: Error) => this.#failures.set(`${host}:${port}`, error.message));
      return client;
    };
    this.#ask = internals.resolve.bind(this);
    internals.resolve = async (by) => {
      const primary = await this.#ask(by);
      if (primary) this.#told = { primary, by };
      return primary;
    };
  }

  override async connect(emit: (type: string, error: Error) => void) {
    // First the one that answered last. Else it goes on behind it, and says at the end of the list
    // that nobody answered.
    this.sentinelIterator.reset(true);
    const told = new Set<string>();
    const stream = await super.connect((type, error) => {
      if (type === "sentinelError") {
        told.add(this.#inOurWords(error.message));
        return;
      }
      // In one order, whoever was asked first: an outage has the same reason then.
      const reasons = [...told].sort().join("; ");
      told.clear();
      this.#failures.clear();
      emit(type, new NoPrimary(`no sentinel says where the primary is: ${reasons}`));
    });
    this.#watch();
    return stream;
  }

  override disconnect(): void {
    this.#unwatch();
    super.disconnect();
  }

  /**
   * Hears of another primary. The old one, if it was told to step down, is left running as it is for
   * some ten seconds, and what is counted there is lost.
   */
  #watch(): void {
    this.#unwatch();
    if (!this.#told) return;
    const { primary, by } = this.#told;
    const internals = this as unknown as Internals;
    // While the library asks, this ends it for good: who probes for the store connects anew.
    const go = (to: Endpoint) => same(to, primary) || this.disconnect();
    const named = (this.options.sentinels ?? []).map(({ host = "", port = usualPort }) => {
      return { host, port };
    });
    // It may be one that the others told of.
    for (const sentinel of named.some((one) => same(one, by)) ? named : [...named, by]) {
      const options = { retryStrategy: () => watchAgainMs, commandTimeout: undefined };
      const watcher = internals.connectToSentinel(sentinel, options);
      this.#watchers.push(watcher);
      watcher.on("message", (_, text: string) => {
        const [name, , , host = "", port] = text.split(" ");
        if (name === this.options.name) go({ host, port: Number(port) });
      });
      const heard = async () => {
        await watcher.subscribe(switched);
        // What it said after its answer and before now nobody heard.
        const now = same(sentinel, by) && (await this.#ask(by));
        if (now && this.#watchers.includes(watcher)) go(now);
      };
      // A user of theirs who may not is no worse off than without.
      heard().catch(() => {});
    }
  }

  #unwatch(): void {
    for (const watcher of this.#watchers.splice(0)) watcher.disconnect();
  }

  #inOurWords(message: string): string {
    const [, known] = /^connected to sentinel (\S+) successfully/.exec(message) ?? [];
    if (known !== undefined) return `${known} knows no ${this.options.name}`;
    const [, address, words] =
      /^failed to connect to sentinel (\S+) because (.*)$/s.exec(message) ?? [];
    if (address === undefined) return message;
    return `${address}: ${this.#failures.get(address) ?? words}`;
  }
}
