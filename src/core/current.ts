/** The core of the configuration that holds now, for doors that stay open while it changes. */
import { setImmediate } from "node:timers/promises";
import { Cancellation } from "./cancellation.js";
import type { Core } from "./core.js";
import { shuttingDown } from "./errors.js";
import type { ClientOf } from "./gateway.js";
import type { Input, MethodName } from "./methods.js";
import { PastRouting } from "./routing/past.js";

/**
 * Hands every call to the core of the moment. Calls that a former core began
 * end there, in their own time.
 */
export class CurrentCore implements Core {
  #core: Core;
  /** Former ones that still run calls. */
  readonly #former = new Set<Core>();
  readonly #past = new PastRouting();
  readonly #leaving = new Cancellation();
  readonly readiness: Core["readiness"];
  readonly routing: Core["routing"];

  constructor(core: Core) {
    this.#core = core;
    const all = () => [this.#core, ...this.#former];
    // Doors keep these two for good.
    this.readiness = {
      leaving: this.#leaving,
      get accepting() {
        return all().every(({ readiness }) => readiness.accepting);
      },
      get running() {
        return all().reduce((sum, { readiness }) => sum + readiness.running, 0);
      },
    };
    this.routing = {
      start: () => this.#core.routing.start(),
      retire: () => this.#core.routing.retire(),
      close: () => this.#core.routing.close(),
      snapshot: () =>
        this.#past.under(
          this.#core.routing.snapshot(),
          [...this.#former].map(({ routing }) => routing.snapshot()),
        ),
    };
  }

  get log() {
    return this.#core.log;
  }

  get media() {
    return this.#core.media;
  }

  get catalogue() {
    return this.#core.catalogue;
  }

  get budgets() {
    return this.#core.budgets;
  }

  admit<H, B>(credential: string | undefined, clientOf: ClientOf<H, B>, headers: H, by: B) {
    return this.#core.admit(credential, clientOf, headers, by);
  }

  call<M extends MethodName>(method: M, request: Input<M>, origin: Parameters<Core["call"]>[2]) {
    return this.#core.call(method, request, origin);
  }

  /** New calls go to this core. Resolves once the one before runs none any more. */
  async replace(core: Core): Promise<void> {
    const former = this.#core;
    this.#former.add(former);
    this.#core = core;
    if (former.budgets) core.budgets?.takeOver(former.budgets);
    former.routing.retire();
    core.routing.start();
    // A call that was handed over in this turn begins in it.
    await setImmediate();
    await former.idle();
    former.routing.close();
    this.#former.delete(former);
    this.#past.add(former.routing.snapshot());
  }

  async drain(): Promise<void> {
    const drained = [this.#core, ...this.#former].map((core) => core.drain());
    this.#leaving.abort(shuttingDown());
    await Promise.all(drained);
  }

  async idle(): Promise<void> {
    await Promise.all([this.#core, ...this.#former].map((core) => core.idle()));
  }

  abort(): void {
    for (const core of [this.#core, ...this.#former]) core.abort();
  }
}
