/** Slots of running calls at the store: prolonged while the calls run, so that those of a dead process end. */
import type { RedisConnection } from "../redis/connection.js";
import { runScript } from "../redis/script.js";
import { renewScript } from "./scripts.js";

/** Leases that one script prolongs: a store does nothing else meanwhile. */
const chunk = 500;

/** The leases of this process. */
export class Leases {
  readonly #held = new Map<string, readonly string[]>();
  readonly #connection: RedisConnection;
  readonly #leaseMs: number;
  readonly #time: () => number;
  readonly #timer: NodeJS.Timeout;

  /** @param time first argument of scripts */
  constructor(connection: RedisConnection, leaseMs: number, time: () => number) {
    this.#connection = connection;
    this.#leaseMs = leaseMs;
    this.#time = time;
    this.#timer = setInterval(() => this.renew(), leaseMs / 3).unref();
    // A store that was started anew knows of nobody who runs.
    connection.onAvailable(() => this.renew());
  }

  /** A call holds slots from now on. */
  hold(id: string, keys: readonly string[]): void {
    if (keys.length > 0) this.#held.set(id, keys);
  }

  /** A call ended. */
  drop(id: string): void {
    this.#held.delete(id);
  }

  /** Prolongs all. */
  renew(): void {
    const pairs = [...this.#held].flatMap(([id, keys]) => keys.map((key) => [key, id] as const));
    for (let at = 0; at < pairs.length; at += chunk) {
      const some = pairs.slice(at, at + chunk);
      const keys = some.map(([key]) => key);
      const args = [this.#time(), this.#leaseMs, ...some.map(([, id]) => id)];
      // What fails here is done again with the next round.
      this.#connection.ask((client) => runScript(client, renewScript, keys, args)).catch(() => {});
    }
  }

  close(): void {
    clearInterval(this.#timer);
    this.#held.clear();
  }
}
