/** A server of the operator's own that is told of budgets. */
import { setTimeout as after } from "node:timers/promises";
import { byLowerName, Transport } from "../backends/http/transport.js";
import { namedAs } from "../backends/http/transport-error.js";
import { atMost } from "../core/abort.js";
import { Cancellation } from "../core/cancellation.js";
import { LintelError } from "../core/errors.js";
import type { AlertSink, BudgetAlert, Telling } from "../core/limits/alerts.js";
import { type Logger, reasonOf } from "../core/log.js";

/** Where it is, and how it is told. */
export interface AlertWebhookSettings {
  /** May hold a secret: it is in no log. */
  readonly url: string;
  readonly headers: Readonly<Record<string, string>>;
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
}

/** Alerts that wait, or are on their way; beyond, they are lost. */
const mostWaiting = 1000;

/** Most requests at once. */
const atOnce = 4;

/** Pauses before an alert is sent again, milliseconds. After the last it is lost. */
const usualPauses: readonly number[] = [1000, 5000, 25_000, 60_000];

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
  readonly #log: Logger;
  readonly #pauses: readonly number[];
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
   */
  constructor(
    { url, headers, timeout }: AlertWebhookSettings,
    log: Logger,
    counts: AlertCounts = { sent: 0, lost: 0 },
    pauses = usualPauses,
  ) {
    const { origin, pathname, search } = new URL(url);
    this.counts = counts;
    this.#path = pathname + search;
    this.#log = log;
    this.#pauses = pauses;
    this.#takesMs = pauses.reduce((all, ms) => all + ms + timeout, timeout) + spareMs;
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
      const { scope, name, period } = telling.alert;
      const budget = JSON.stringify([scope, name, period]);
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
    const pauses = [...this.#pauses];
    while (!this.#next) {
      const failure = await this.#inTurn(() => this.#attempt(telling, body));
      if (!failure) return;
      if (this.#next) break;
      const pauseMs = pauses.shift();
      if (pauseMs === undefined || failure.final || this.#closing.aborted) {
        this.#lose(telling, failure.reason);
        return;
      }
      const { native: signal } = this.#leaving;
      await after(pauseMs, undefined, { signal, ref: false }).catch(() => {});
    }
    this.#next?.send(telling);
  }

  /** @returns nothing where no other is needed: it arrived, or another gateway tells it */
  async #attempt(telling: Telling, body: string): Promise<Failure | undefined> {
    const { aborted, reason } = this.#leaving;
    if (aborted) return { reason: reasonOf(reason) };
    if (!(await telling.begin(this.#takesMs))) return undefined;
    const failure = await this.#post(body);
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

  async #post(body: string): Promise<Failure | undefined> {
    try {
      const answer = await this.#transport.send({
        method: "POST",
        path: this.#path,
        body,
        signal: this.#closing,
      });
      answer.abort();
      const { status } = answer;
      if (status >= 200 && status < 300) return undefined;
      const final = status < 500 && status !== 408 && status !== 429;
      return { reason: `it answers with status ${status}`, final };
    } catch (error) {
      const said =
        error instanceof LintelError ? namedAs("webhook of budget_alerts", error) : error;
      return { reason: reasonOf(said) };
    }
  }

  #lose(telling: Telling, reason: string): void {
    const { scope, name, threshold } = telling.alert;
    telling.lost();
    this.counts.lost++;
    this.#log.warn({ scope, name, threshold, reason }, "an alert of a budget can't be sent");
  }
}

/** What is sent. `text` is what Slack and Mattermost show. */
export function bodyOf(alert: BudgetAlert, now: number) {
  const { scope, name, period, threshold, amount, used, refused, endsAt } = alert;
  return {
    text: textOf(alert),
    event: "budget",
    time: new Date(now).toISOString(),
    ...{ scope, name, period, threshold, amount, used, refused },
    ratio: used / amount,
    ...(endsAt !== undefined && {
      resets_at: new Date(Math.round(endsAt / 1000) * 1000).toISOString(),
    }),
  };
}

function textOf({ scope, name, period, amount, used, refused, endsAt }: BudgetAlert): string {
  const whose = scope === "global" ? "the whole gateway" : `the ${scope} ${named(name)}`;
  const share = Math.floor((used / amount) * 100);
  const how = `${rounded(used)} of ${rounded(amount)} ${period === "lifetime" ? "in all" : `per ${period}`}`;
  const what = refused
    ? "calls are refused"
    : used >= amount
      ? "it is used up"
      : `${share}% is used`;
  const until =
    endsAt === undefined
      ? "does not begin anew"
      : `begins anew at ${new Date(endsAt).toISOString().slice(0, 16)}Z`;
  return `Budget of ${whose}: ${what} (${how}; it ${until}).`;
}

/**
 * Callers' names may be their own: none may call a channel together, as Slack does for `<!channel>` and
 * Mattermost for `@channel`, which a space without width behind the `@` prevents. Not in addresses of mail.
 */
const named = (name: string) =>
  JSON.stringify(name)
    .replaceAll("&", "&amp;")
    .replaceAll("<", "&lt;")
    .replaceAll(">", "&gt;")
    .replaceAll(/(?<!\w)@/g, "@\u200b");

const rounded = (amount: number) => String(Number(amount.toPrecision(6)));
