/** Models that leave memory once no call wanted them for a while. */
import type { Logger } from "../core/log.js";
import type { Resident } from "./resident.js";

/** Watches one model. */
export class KeepAlive {
  readonly #ms: number;
  readonly #resident: Resident;
  readonly #log: Logger;
  #timer: NodeJS.Timeout | undefined;
  #closed = false;

  /** @param ms how long it stays without calls */
  constructor(ms: number, resident: Resident, log: Logger) {
    this.#ms = ms;
    this.#resident = resident;
    this.#log = log;
  }

  /** Begins to count anew: it was loaded, or a call is over. */
  touch(): void {
    if (this.#closed) return;
    if (this.#timer) this.#timer.refresh();
    else this.#timer = setTimeout(() => this.#leave(), this.#ms).unref();
  }

  /** It is about to be freed for good. */
  close(): void {
    this.#closed = true;
    clearTimeout(this.#timer);
  }

  #leave(): void {
    const { id, calls, state } = this.#resident;
    // What runs, or waits, touches it once more.
    if (calls > 0 || state !== "ready") return;
    this.#log.info({ model: id, keepAlive: this.#ms }, "nobody wants the model: it leaves memory");
    // What goes wrong is in the model's state.
    this.#resident.unload().catch(() => {});
  }
}
