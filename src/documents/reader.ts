/** Reads the text of PDFs, for models that take no files. */
import { unlessAborted } from "../core/abort.js";
import type { CallSignal } from "../core/cancellation.js";
import type { DocumentReader, DocumentText } from "../core/documents.js";
import { shuttingDown } from "../core/errors.js";
import { FairQueue, Waiter } from "../core/routing/queue.js";
import { Reading } from "./reading.js";

/** What documents may take. */
export interface ReaderLimits {
  /** How many are read at once; one that is slow shall hold nobody up. Default: 2. */
  readonly atOnce?: number;
  /** Milliseconds, from its turn on. Default: 20 000. */
  readonly timeout?: number;
  /** MiB of memory, besides Node and the file. Default: 512. */
  readonly memory?: number;
  /** Characters of text, counted as UTF-16 has them. Default: 4 000 000. */
  readonly length?: number;
}

/** Reads documents, a few at a time, of each caller in turn, each in a process that goes with it. */
export class PdfReader implements DocumentReader {
  readonly #limits: Required<ReaderLimits>;
  readonly #readings = new Set<Reading>();
  /** Callers whose documents are read. */
  readonly #running: string[] = [];
  readonly #waiting = new FairQueue((caller) => this.#running.filter((it) => it === caller).length);
  #closed = false;

  constructor({
    atOnce = 2,
    timeout = 20_000,
    memory = 512,
    length = 4_000_000,
  }: ReaderLimits = {}) {
    this.#limits = { atOnce, timeout, memory, length };
  }

  /**
   * The text of a PDF.
   * @throws LintelError `invalid_value` without a field if it can't be read, has no text or takes more
   *   than it may, `shutting_down` once closed; the
   *   signal's reason
   */
  read(pdf: Uint8Array, caller: string, signal: CallSignal): Promise<DocumentText> {
    return unlessAborted(this.#inTurn(pdf, caller, signal), signal);
  }

  /** Ends what is read; those that wait fail, too. Resolves when all processes are gone. */
  async close(): Promise<void> {
    this.#closed = true;
    const readings = [...this.#readings];
    for (const reading of readings) reading.end(shuttingDown());
    await Promise.allSettled(readings.map(({ text }) => text));
  }

  async #inTurn(pdf: Uint8Array, caller: string, signal: CallSignal): Promise<DocumentText> {
    signal.throwIfAborted();
    await this.#turn(caller, signal);
    try {
      return await this.#readNow(pdf, signal);
    } finally {
      this.#running.splice(this.#running.indexOf(caller), 1);
      const next = this.#waiting.shift();
      if (next) this.#running.push(next.caller);
      next?.settle(undefined);
    }
  }

  /** Resolves when one more may be read. */
  async #turn(caller: string, signal: CallSignal): Promise<void> {
    if (this.#running.length < this.#limits.atOnce) {
      this.#running.push(caller);
      return;
    }
    const waiter = new Waiter(caller, []);
    this.#waiting.enter(waiter, Number.POSITIVE_INFINITY, 0);
    const leave = () => waiter.fail(signal.reason);
    signal.addEventListener("abort", leave, { once: true });
    try {
      await waiter.place;
    } finally {
      signal.removeEventListener("abort", leave);
    }
  }

  async #readNow(pdf: Uint8Array, signal: CallSignal): Promise<DocumentText> {
    // Either may have come between the turn and now.
    signal.throwIfAborted();
    if (this.#closed) throw shuttingDown();
    const { timeout, memory, length } = this.#limits;
    const reading = new Reading({ pdf, memory, length }, timeout);
    this.#readings.add(reading);
    const leave = () => reading.end(signal.reason);
    signal.addEventListener("abort", leave, { once: true });
    try {
      return await reading.text;
    } finally {
      signal.removeEventListener("abort", leave);
      this.#readings.delete(reading);
    }
  }
}
