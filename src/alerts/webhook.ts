/** A server of the operator's own that is told of budgets. */
import { setTimeout as after } from "node:timers/promises";
import { byLowerName, Transport } from "../backends/http/transport.js";
import { atMost } from "../core/abort.js";
import { Cancellation } from "../core/cancellation.js";
import type { AlertSink, BudgetAlert } from "../core/limits/alerts.js";
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

/** An alert, and who hears if it is given up. */
interface Waiting {
  readonly alert: BudgetAlert;
  readonly lost: () => void;
}

/** Alerts that wait; beyond, they are lost. */
const mostWaiting = 1000;

/** Pauses before an alert is sent again, milliseconds. After the last it is lost. */
const usualPauses: readonly number[] = [1000, 5000, 25_000, 60_000];

/** How long an end waits for what is on its way, milliseconds. */
const closeMs = 2000;

/** Sends `POST {url}` for each alert, one after the other. */
export class AlertWebhook implements AlertSink {
  readonly counts: AlertCounts;
  readonly #transport: Transport;
  readonly #path: string;
  readonly #log: Logger;
  readonly #pauses: readonly number[];
  readonly #waiting: Waiting[] = [];
  readonly #closing = new Cancellation();
  /** Ends a pause. */
  readonly #leaving = new Cancellation();
  /** Who tells in its place. */
  #next: AlertWebhook | undefined;
  #sending: Promise<void> | undefined;

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
    this.#transport = new Transport({
      origin,
      headers: byLowerName(headers),
      timeouts: { connect: Math.min(timeout, 5000), first: timeout, idle: timeout },
      connections: 1,
    });
  }

  send(alert: BudgetAlert, lost: () => void): void {
    const one = { alert, lost };
    if (this.#next) this.#next.send(alert, lost);
    else if (this.#closing.aborted) this.#lose(one, "the gateway ends");
    else if (this.#waiting.length >= mostWaiting) this.#lose(one, "too many wait");
    else {
      this.#waiting.push(one);
      this.#sending ??= this.#sendAll().finally(() => {
        this.#sending = undefined;
      });
    }
  }

  /** Another one tells from here on, also what waits; what is on its way may arrive. */
  handOver(next: AlertWebhook): void {
    this.#next = next;
    this.#leaving.abort(new Error("another address is told"));
  }

  /** What is on its way may arrive; what else waits is lost. */
  async close(): Promise<void> {
    if (this.#sending) await atMost(closeMs, this.#sending);
    this.#closing.abort(new Error("the gateway ends"));
    this.#leaving.abort(new Error("the gateway ends"));
    await this.#sending;
    await this.#transport.close();
  }

  async #sendAll(): Promise<void> {
    for (;;) {
      const one = this.#waiting.shift();
      if (!one) return;
      await this.#deliver(one);
    }
  }

  /** Never rejects. */
  async #deliver(one: Waiting): Promise<void> {
    const { alert, lost } = one;
    const body = JSON.stringify(bodyOf(alert, Date.now()));
    for (const pauseMs of [...this.#pauses, undefined]) {
      if (this.#next) break;
      const failure = await this.#post(body);
      if (!failure) {
        this.counts.sent++;
        return;
      }
      if (this.#next) break;
      if (pauseMs === undefined || failure.final || this.#closing.aborted) {
        this.#lose(one, failure.reason);
        return;
      }
      const { native: signal } = this.#leaving;
      await after(pauseMs, undefined, { signal, ref: false }).catch(() => {});
    }
    this.#next?.send(alert, lost);
  }

  async #post(body: string): Promise<{ reason: string; final?: boolean } | undefined> {
    const { aborted, reason } = this.#closing;
    if (aborted) return { reason: reasonOf(reason) };
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
      // Another attempt would be refused, too.
      const final = status < 500 && status !== 408 && status !== 429;
      return { reason: `it answers with status ${status}`, final };
    } catch (error) {
      return { reason: reasonOf(error) };
    }
  }

  #lose({ alert: { scope, name, threshold }, lost }: Waiting, reason: string): void {
    lost();
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

/** Callers' names may be their own: none may call a channel together, as Slack does for `<!channel>`. */
const named = (name: string) =>
  JSON.stringify(name).replaceAll("&", "&amp;").replaceAll("<", "&lt;").replaceAll(">", "&gt;");

const rounded = (amount: number) => String(Number(amount.toPrecision(6)));
