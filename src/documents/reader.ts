/** Reads the text of PDFs, for models that take no files. */
import { unlessAborted } from "../core/abort.js";
import type { CallSignal } from "../core/cancellation.js";
import type { DocumentReader, DocumentText } from "../core/documents.js";
import { shuttingDown } from "../core/errors.js";
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

/** Reads documents, a few at a time, each in a process that goes with it. */
export class PdfReader implements DocumentReader {
  readonly #limits: Required<ReaderLimits>;
  readonly #readings = new Set<Reading>();
  /** What starts those that wait, in their order. */
  readonly #waiting: (() => void)[] = [];
  #running = 0;
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
  read(pdf: Uint8Array, signal: CallSignal): Promise<DocumentText> {
    return unlessAborted(this.#inTurn(pdf, signal), signal);
  }

  /** Ends what is read; those that wait fail, too. Resolves when all processes are gone. */
  async close(): Promise<void> {
    this.#closed = true;
    const readings = [...this.#readings];
    for (const reading of readings) reading.end(shuttingDown());
    await Promise.allSettled(readings.map(({ text }) => text));
  }

  async #inTurn(pdf: Uint8Array, signal: CallSignal): Promise<DocumentText> {
    signal.throwIfAborted();
    if (this.#closed) throw shuttingDown();
    await this.#turn(signal);
    try {
      return await this.#readNow(pdf, signal);
    } finally {
      this.#running--;
      this.#waiting.shift()?.();
    }
  }

  /** Resolves when one more may be read. */
  #turn(signal: CallSignal): Promise<void> {
    return new Promise((resolve, reject) => {
      const start = () => {
        this.#running++;
        signal.removeEventListener("abort", leave);
        resolve();
      };
      const leave = () => {
        this.#waiting.splice(this.#waiting.indexOf(start), 1);
        reject(signal.reason);
      };
      if (this.#running < this.#limits.atOnce) return start();
      this.#waiting.push(start);
      signal.addEventListener("abort", leave, { once: true });
    });
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
