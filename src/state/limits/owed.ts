/** What the store has still to be told: kept while it is away, and sent when it is back. */
import { randomBytes } from "node:crypto";
import { atMost } from "../../core/abort.js";
import type { BudgetPeriod } from "../../core/limits/settings.js";
import type { Claim } from "../../core/limits/store.js";
import { systemClock, type Timer } from "../../core/routing/clock.js";
import type { RedisConnection } from "../redis/connection.js";
import { runScript } from "../redis/script.js";
import { steadyNow } from "./count.js";
import type { SpanArguments } from "./encoding.js";
import { chargeScript } from "./scripts.js";

/** Most corrections, and most counters, that are kept; the oldest, and those longest unused, are given up. */
const mostKept = 10_000;
/** How many are on their way at once. */
const chunk = 100;
/** When a store that is there is told again what it did not confirm in time, milliseconds. */
const againMs = 1000;

/** Every period begins with a quarter of an hour, in every zone: what was used within one is told as one. */
const together = 900_000;

interface Charge {
  readonly key: string;
  readonly period: BudgetPeriod;
  /** When it was used, by a clock of this process: the store is told how long ago that is. */
  readonly at: number;
  amount: number;
}

/** The debts of this process to the store. Everything sent may be sent again and counts once. */
export class Owed {
  readonly #connection: RedisConnection;
  readonly #prefix: string;
  readonly #spans: SpanArguments;
  readonly #clock: (() => number) | undefined;
  readonly #waiting = new Set<() => Promise<void>>();
  readonly #charges = new Map<string, Charge>();
  readonly #sending = new Set<Promise<void>>();
  #flushing: Promise<void> | undefined;
  #again: Timer | undefined;
  /** Hears that nothing is owed any more. */
  #paid: (() => void) | undefined;
  #closed = false;

  /**
   * @param prefix of all keys
   * @param clock milliseconds since the epoch, for the scripts too; absent: these take the store's
   */
  constructor(
    connection: RedisConnection,
    prefix: string,
    spans: SpanArguments,
    clock?: () => number,
  ) {
    this.#connection = connection;
    this.#prefix = prefix;
    this.#spans = spans;
    this.#clock = clock;
    connection.onAvailable(() => this.#flush());
  }

  /** Does something at the store now, or else when it is back. Doing it twice must count once. */
  send(task: () => Promise<void>): void {
    if (!this.#connection.available) {
      this.#keep(task);
      return;
    }
    const sent: Promise<void> = task()
      .catch(() => {
        this.#keep(task);
        this.#flushLater();
      })
      .finally(() => this.#sending.delete(sent));
    this.#sending.add(sent);
  }

  /** Notes what a call took that the store never heard of. */
  charge(claims: readonly Claim[], amounts: readonly number[]): void {
    const at = this.#now();
    for (const [i, { counter, amount }] of claims.entries()) {
      const { key, span } = counter;
      const took = amounts[i] ?? amount;
      if (span.type !== "calendar" || took === 0) continue;
      const name = `${Math.floor(at / together)}:${key}`;
      const charge = this.#charges.get(name);
      if (charge) {
        charge.amount += took;
        // Those of end users, of whom there may be any number, push out none in which every call counts.
        this.#charges.delete(name);
        this.#charges.set(name, charge);
      } else {
        if (this.#charges.size >= mostKept) dropFirst(this.#charges);
        this.#charges.set(name, { key, period: span.period, at, amount: took });
      }
    }
    if (this.#connection.available) this.#flush();
  }

  /**
   * Waits for what is on its way, and for a store that is away: what it never hears of stays reserved of a
   * budget until the period ends.
   * @param ms how long at most for one that is away, milliseconds
   */
  async close(ms: number): Promise<void> {
    if (this.#connection.available) this.#flush();
    await Promise.all([...this.#sending, this.#flushing]);
    if (this.#owes) {
      const paid = new Promise<void>((resolve) => {
        this.#paid = resolve;
      });
      await atMost(ms, paid);
    }
    this.#closed = true;
    this.#again?.cancel();
  }

  get #owes(): boolean {
    return this.#waiting.size > 0 || this.#charges.size > 0;
  }

  #now(): number {
    return (this.#clock ?? steadyNow)();
  }

  #keep(task: () => Promise<void>): void {
    if (this.#waiting.size >= mostKept) dropFirst(this.#waiting);
    this.#waiting.add(task);
  }

  #flush(): void {
    this.#flushing ??= this.#sendAll().finally(() => {
      this.#flushing = undefined;
    });
  }

  /** A store that is only slow never says that it is back, and until it knows it takes the estimate for used. */
  #flushLater(): void {
    if (this.#closed || !this.#connection.available) return;
    this.#again ??= systemClock.after(againMs, () => {
      this.#again = undefined;
      if (this.#connection.available) this.#flush();
    });
  }

  async #sendAll(): Promise<void> {
    try {
      while (this.#waiting.size > 0) {
        const tasks = [...this.#waiting].slice(0, chunk);
        await Promise.all(tasks.map((task) => task().then(() => this.#waiting.delete(task))));
      }
      while (this.#charges.size > 0) await this.#sendCharges();
      if (!this.#owes) this.#paid?.();
    } catch {
      // What was not sent stays for the next time: when it is back, if it went away again.
      this.#flushLater();
    }
  }

  async #sendCharges(): Promise<void> {
    const charges = [...this.#charges].slice(0, chunk);
    for (const [name] of charges) this.#charges.delete(name);
    const keys = [`${this.#prefix}charge:${randomBytes(12).toString("base64url")}`];
    for (const [, { key }] of charges) keys.push(this.#prefix + key);
    const send = async () => {
      const args: (string | number)[] = [this.#clock?.() ?? 0];
      const now = this.#now();
      for (const [, { period, at, amount }] of charges) {
        args.push(amount, this.#spans.period(period), now - at);
      }
      await this.#connection.ask((client) => runScript(client, chargeScript, keys, args));
    };
    // From here on it is one addition with a name: if it has to be sent again, as it is.
    await send().catch((error: unknown) => {
      this.#keep(send);
      throw error;
    });
  }
}

function dropFirst(from: Map<unknown, unknown> | Set<unknown>): void {
  for (const key of from.keys()) {
    from.delete(key);
    return;
  }
}
