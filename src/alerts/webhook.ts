/** A server of the operator's own that is told of budgets. */
import { errorBodyOf } from "../backends/http/refused.js";
import { retryAfterOf } from "../backends/http/retry-after.js";
import { byLowerName, Transport } from "../backends/http/transport.js";
import { namedAs } from "../backends/http/transport-error.js";
import { messageId, type Sign, signing } from "../backends/http/webhook-signature.js";
import { atMost } from "../core/abort.js";
import { Cancellation } from "../core/cancellation.js";
import { LintelError } from "../core/errors.js";
import type { AlertSink, Telling } from "../core/limits/alerts.js";
import { type Logger, reasonOf } from "../core/log.js";
import { type Clock, pause, systemClock } from "../core/routing/clock.js";
import { tlsIsSpoken, wantsTls } from "../core/tls-errors.js";
import { bodyOf } from "./body.js";

/** Where it is, and how it is told. */
export interface AlertWebhookSettings {
  /** May hold a secret: it is in no log. */
  readonly url: string;
  readonly headers: Readonly<Record<string, string>>;
  /** As `signing` takes them. Default: none */
  readonly signing_secrets?: readonly string[] | undefined;
  /** Longest time that one request may take to be answered, milliseconds. */
  readonly timeout: number;
}

/** What became of alerts, since the start. */
export interface AlertCounts {
  sent: number;
  lost: number;
}

/** Why it did not arrive. */
interface Failure {
  readonly reason: string;
  /** Whether another attempt would be refused, too. */
  readonly final?: boolean;
  /** Seconds after which it wants to be asked again, where it says so. */
  readonly retryAfter?: number | undefined;
}

/** Alerts that wait, or are on their way; beyond, they are lost. */
const mostWaiting = 1000;

/** Most requests at once. */
const atOnce = 4;

/** Pauses before an alert is sent again, milliseconds. After the last it is lost. */
const usualPauses: readonly number[] = [1000, 5000, 25_000, 60_000];

/**
 * Longest that one of them becomes where the answer asks for more (`Retry-After`), milliseconds. With all of them, another
 * gateway may still tell in the place of one that is killed when a budget is looked at anew, after a quarter of an hour.
 */
const longestPauseMs = 180_000;

/** How much longer than what is waited for an alert may take, milliseconds: on a busy machine. */
const spareMs = 30_000;

/** How long an end waits for what is on its way, milliseconds. */
const closeMs = 2000;

/**
 * Sends `POST {url}` for each alert: those of one budget one after the other, others at the same time. One that is to be
 * sent again holds up those of its budget alone.
 */
export class AlertWebhook implements AlertSink {
  readonly counts: AlertCounts;
  readonly #transport: Transport;
  readonly #path: string;
  readonly #sign: Sign | undefined;
  readonly #log: Logger;
  readonly #pauses: readonly number[];
  readonly #clock: Clock;
  /** How long an alert takes at most, milliseconds. */
  readonly #takesMs: number;
  /** The end of what there is of each budget. */
  readonly #last = new Map<string, Promise<void>>();
  #kept = 0;
  #running = 0;
  /** Those that wait for others' requests to end. */
  readonly #turns: (() => void)[] = [];
  readonly #closing = new Cancellation();
  /** Ends a pause. */
  readonly #leaving = new Cancellation();
  /** Who tells in its place. */
  #next: AlertWebhook | undefined;
  /** Why nobody does, once that is so. */
  #end = "the gateway ends";

  /**
   * @param counts of the one whose place it takes
   * @param pauses as `usualPauses`
   * @param clock for the pauses
   */
  constructor(
    { url, headers, signing_secrets, timeout }: AlertWebhookSettings,
    log: Logger,
    counts: AlertCounts = { sent: 0, lost: 0 },
    pauses = usualPauses,
    clock = systemClock,
  ) {
    const { origin, pathname, search } = new URL(url);
    this.counts = counts;
    this.#path = pathname + search;
    this.#sign = signing(signing_secrets);
    this.#log = log;
    this.#pauses = pauses;
    this.#clock = clock;
    const longest = (ms: number) => Math.max(ms, longestPauseMs);
    this.#takesMs = pauses.reduce((all, ms) => all + longest(ms) + timeout, timeout) + spareMs;
    this.#transport = new Transport({
      origin,
      headers: byLowerName(headers),
      timeouts: { connect: Math.min(timeout, 5000), first: timeout, idle: timeout },
      connections: atOnce,
    });
  }

  send(telling: Telling): void {
    if (this.#next) this.#next.send(telling);
    else if (this.#closing.aborted) this.#lose(telling, this.#end);
    else if (this.#kept >= mostWaiting) this.#lose(telling, "too many wait");
    else {
      const { scope, name, caller, period } = telling.alert;
      const budget = JSON.stringify([scope, name, caller, period]);
      this.#kept++;
      const done = (this.#last.get(budget) ?? Promise.resolve())
        .then(() => this.#deliver(telling))
        .finally(() => {
          this.#kept--;
          if (this.#last.get(budget) === done) this.#last.delete(budget);
        });
      this.#last.set(budget, done);
    }
  }

  /**
   * Another one tells from here on, also what waits; what is on its way may arrive.
   * @param next absent: nobody is to be told any more
   */
  handOver(next: AlertWebhook | undefined): void {
    this.#next = next;
    if (!next) this.#end = "budget_alerts is no longer configured";
    this.#leaving.abort(new Error(next ? "another address is told" : this.#end));
    // None of them is sent from here.
    for (const go of this.#turns.splice(0)) go();
  }

  /** What is on its way may arrive; what else waits is lost. */
  async close(): Promise<void> {
    await atMost(closeMs, this.#idle());
    this.#closing.abort(new Error(this.#end));
    this.#leaving.abort(new Error(this.#end));
    await this.#idle();
    await this.#transport.close();
  }

  async #idle(): Promise<void> {
    await Promise.all(this.#last.values());
  }

  /** Never rejects. */
  async #deliver(telling: Telling): Promise<void> {
    const body = JSON.stringify(bodyOf(telling.alert, Date.now()));
    // The same one with each attempt.
    const id = messageId();
    const pauses = [...this.#pauses];
    while (!this.#next) {
      const failure = await this.#inTurn(() => this.#attempt(telling, body, id));
      if (!failure) return;
      if (this.#next) break;
      const pauseMs = pauses.shift();
      if (pauseMs === undefined || failure.final) {
        this.#lose(telling, failure.reason);
        return;
      }
      const askedMs = Math.min((failure.retryAfter ?? 0) * 1000, longestPauseMs);
      await pause(this.#clock, Math.max(pauseMs, askedMs), this.#leaving).catch(() => {});
    }
    this.#next?.send(telling);
  }

  /** @returns nothing where no other is needed: it arrived, or another gateway tells it */
  async #attempt(telling: Telling, body: string, id: string): Promise<Failure | undefined> {
    const { aborted, reason } = this.#leaving;
    if (aborted) return { reason: reasonOf(reason) };
    if (!(await telling.begin(this.#takesMs))) return undefined;
    const failure = await this.#post(body, id);
    if (failure) return failure;
    this.counts.sent++;
    telling.told();
    return undefined;
  }

  /** At most so many at once, in the order in which they come. */
  async #inTurn<T>(task: () => Promise<T>): Promise<T> {
    if (this.#running < atOnce) this.#running++;
    else await new Promise<void>((go) => this.#turns.push(go));
    try {
      return await task();
    } finally {
      const go = this.#turns.shift();
      if (go) go();
      else this.#running--;
    }
  }

  async #post(body: string, id: string): Promise<Failure | undefined> {
    try {
      const answer = await this.#transport.send({
        method: "POST",
        path: this.#path,
        body,
        ...(this.#sign && { headers: this.#sign(body, id) }),
        signal: this.#closing,
      });
      const { status, headers } = answer;
      const said = status === 400 ? await errorBodyOf(answer, this.#closing) : "";
      answer.abort();
      if (status >= 200 && status < 300) return undefined;
      const final = status < 500 && status !== 408 && status !== 429;
      const retryAfter = retryAfterOf(headers["retry-after"], Date.now());
      // What else it says may have the secret of the address in it.
      const why = wantsTls(said) ? `: ${tlsIsSpoken}` : "";
      return { reason: `it answers with status ${status}${why}`, final, retryAfter };
    } catch (error) {
      const said =
        error instanceof LintelError ? namedAs("webhook of budget_alerts", error) : error;
      return { reason: reasonOf(said) };
    }
  }

  #lose(telling: Telling, reason: string): void {
    const { scope, name, caller, threshold } = telling.alert;
    telling.lost();
    this.counts.lost++;
    this.#log.warn(
      { scope, name, caller, threshold, reason },
      "an alert of a budget can't be sent",
    );
  }
}
