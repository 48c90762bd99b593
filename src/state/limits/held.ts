/** Names of what one of several gateways does for all, in Redis or Valkey. */
import type { RedisConnection } from "../redis/connection.js";
import { runScript, script } from "../redis/script.js";
import type { Owed } from "./owed.js";

/**
 * Holds a name, unless another holds it.
 * KEYS: what keeps who holds it. ARGV: who wants it; for how long.
 */
const holdScript = script(`
local holder = redis.call('GET', KEYS[1])
if holder and holder ~= ARGV[1] then return 0 end
redis.call('SET', KEYS[1], ARGV[1], 'PX', ARGV[2])
return 1
`);

/**
 * Forgets who holds a name, if it is this one.
 * KEYS: what keeps who holds it. ARGV: who gives it back.
 */
const releaseScript = script(`
if redis.call('GET', KEYS[1]) ~= ARGV[1] then return 0 end
return redis.call('DEL', KEYS[1])
`);

/** `hold`, `keep` and `release` of a `LimitStore`. */
export class HeldNames {
  readonly #connection: RedisConnection;
  readonly #owed: Owed;
  readonly #prefix: string;

  /** @param prefix of all keys */
  constructor(connection: RedisConnection, owed: Owed, prefix: string) {
    this.#connection = connection;
    this.#owed = owed;
    this.#prefix = `${prefix}first:`;
  }

  hold(name: string, holder: string, forMs: number): boolean | Promise<boolean> {
    if (!this.#connection.available) return true;
    return this.#hold(name, holder, forMs).catch(() => true);
  }

  keep(name: string, holder: string, forMs: number): void {
    this.#owed.send(async () => void (await this.#hold(name, holder, forMs)));
  }

  release(name: string, holder: string): void {
    this.#owed.send(async () => {
      const keys = [this.#prefix + name];
      await this.#connection.ask((client) => runScript(client, releaseScript, keys, [holder]));
    });
  }

  /** @throws what the connection throws */
  async #hold(name: string, holder: string, forMs: number): Promise<boolean> {
    const keys = [this.#prefix + name];
    const args = [holder, Math.ceil(forMs)];
    const held = await this.#connection.ask((client) => runScript(client, holdScript, keys, args));
    return held === 1;
  }
}
