/** The calls that run now, and whether more may begin. */
import { Cancellation } from "./cancellation.js";
import { type LintelError, shuttingDown } from "./errors.js";
import type { Readiness } from "./gateway.js";
import type { Life } from "./life.js";
import { Roster } from "./roster.js";

/** All calls of a core, from their begin to their end. */
export class InFlight implements Readiness {
  readonly #lives = new Roster<Life>();
  readonly #waiting = new Set<() => void>();
  readonly leaving = new Cancellation();

  get accepting(): boolean {
    return !this.leaving.aborted;
  }

  get running(): number {
    return this.#lives.size;
  }

  /** @throws LintelError `shutting_down` where no more may begin */
  add(life: Life): void {
    if (this.leaving.aborted) throw shuttingDown();
    this.#lives.add(life);
  }

  /** Nothing happens to one that never began. */
  delete(life: Life): void {
    this.#lives.delete(life);
    if (this.#lives.size === 0 && this.#waiting.size > 0) this.#settle();
  }

  /** Lets no more begin. */
  refuse(): void {
    this.leaving.abort(shuttingDown());
  }

  /** Resolves once no call runs. */
  none(): Promise<void> {
    return new Promise((done) => {
      this.#waiting.add(done);
      if (this.#lives.size === 0) this.#settle();
    });
  }

  abort(reason: LintelError): void {
    for (const life of this.#lives) life.abort(reason);
  }

  #settle(): void {
    for (const done of this.#waiting) done();
    this.#waiting.clear();
  }
}
