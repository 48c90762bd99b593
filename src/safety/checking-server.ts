/** A server that says what it thinks of something, as JSON. */
import { askJson } from "../backends/http/ask.js";
import { Transport } from "../backends/http/transport.js";
import { namedAs } from "../backends/http/transport-error.js";
import type { Sign } from "../backends/http/webhook-signature.js";
import { Running } from "../backends/running.js";
import type { CallSignal } from "../core/cancellation.js";
import { LintelError, toLintelError } from "../core/errors.js";
import { longestTimerMs } from "../core/timers.js";

/** How it is asked. */
export interface CheckingSettings {
  /** Scheme, host and port. */
  readonly origin: string;
  /** Names in lower case. */
  readonly headers: Readonly<Record<string, string>>;
  /** Longest time that one question may take in all, milliseconds. */
  readonly timeout: number;
  /** Makes headers of each question. Default: none */
  readonly sign?: Sign | undefined;
  /** What it is called in errors, for example `moderation server`. */
  readonly what: string;
}

/** Asks such a server. */
export class CheckingServer {
  readonly #settings: CheckingSettings;
  readonly #transport: Transport;
  readonly #running = new Running();

  constructor(settings: CheckingSettings) {
    this.#settings = settings;
    this.#transport = new Transport({
      origin: settings.origin,
      headers: settings.headers,
      // A check has its time in all, however its answer comes.
      timeouts: { connect: 5000, first: 0, idle: 0 },
      connections: 16,
    });
  }

  /**
   * What it answers to `POST {path}`.
   * @param path with its query
   * @throws LintelError `timeout`, or as `askJson`; the signal's reason
   */
  async ask(path: string, question: object, signal: CallSignal): Promise<unknown> {
    const { timeout, what, sign } = this.#settings;
    const followed = this.#running.follow(signal);
    const tooLate = () => followed.abort(new LintelError("timeout", `the ${what} took too long`));
    const timer = setTimeout(tooLate, Math.min(timeout, longestTimerMs));
    try {
      const body = JSON.stringify(question);
      return await askJson(this.#transport, {
        method: "POST",
        path,
        body,
        ...(sign && { headers: sign(body) }),
        signal: followed.signal,
      });
    } catch (thrown) {
      throw signal.aborted ? thrown : namedAs(what, toLintelError(thrown));
    } finally {
      clearTimeout(timer);
      followed.end();
    }
  }

  /** Ends the questions that are asked. */
  close(): Promise<void> {
    return this.#transport.close();
  }
}

/** The header with a key; none where there is none. */
export const bearer = (key: string | undefined): Record<string, string> =>
  key === undefined ? {} : { authorization: `Bearer ${key}` };
