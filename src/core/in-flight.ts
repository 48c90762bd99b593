/** The calls that run now, and whether more may begin. */
import { Cancellation } from "./cancellation.js";
import { type LintelError, shuttingDown } from "./errors.js";
import type { Readiness } from "./gateway.js";
import type { Life } from "./life.js";
import { Roster } from "./roster.js";

/** All calls of a core, from their begin to their end. */
export class InFlight implements Readiness {
  readonly #lives = new Roster<Life>();
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
  }

  /** Lets no more begin. */
  refuse(): void {
    this.leaving.abort(shuttingDown());
  }

  /** Resolves once no call runs. */
  none(): Promise<void> {
    return this.#lives.none();
  }

  abort(reason: LintelError): void {
    for (const life of this.#lives) life.abort(reason);
  }
}
