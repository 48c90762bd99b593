/** Documents that are read for one attempt: neither the time that takes nor a failure of it is its target's. */
import type { CallSignal } from "../cancellation.js";
import type { DocumentReader, DocumentText } from "../documents.js";
import type { Clock } from "./clock.js";

/** Has another reader read, and knows how that went. */
export class AttemptReader implements DocumentReader {
  readonly #reader: DocumentReader;
  readonly #clock: Clock;
  readonly #done: () => void;
  #readMs = 0;
  #since: number | undefined;
  #failed = false;

  /** @param done called whenever a document was read, or could not be */
  constructor(reader: DocumentReader, clock: Clock, done: () => void) {
    this.#reader = reader;
    this.#clock = clock;
    this.#done = done;
  }

  /** Whether a document is being read. */
  get busy(): boolean {
    return this.#since !== undefined;
  }

  /** Whether one could not be read. */
  get failed(): boolean {
    return this.#failed;
  }

  /** How long they were read so far, milliseconds. @param now as the clock says */
  readMs(now: number): number {
    return this.#readMs + (this.#since === undefined ? 0 : now - this.#since);
  }

  async read(pdf: Uint8Array, caller: string, signal: CallSignal): Promise<DocumentText> {
    this.#since = this.#clock.now();
    try {
      return await this.#reader.read(pdf, caller, signal);
    } catch (thrown) {
      this.#failed = true;
      throw thrown;
    } finally {
      this.#readMs = this.readMs(this.#clock.now());
      this.#since = undefined;
      this.#done();
    }
  }
}
