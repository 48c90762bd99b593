/** Asks backends how they are, now and then, without a call. */
import { unlessAborted } from "../abort.js";
import type { Backend } from "../backend.js";
import { LintelError, shuttingDown, toLintelError } from "../errors.js";
import { type Logger, reasonOf } from "../log.js";
import { verdictOf } from "./blame.js";
import type { Clock, Timer } from "./clock.js";
import type { Endpoint } from "./endpoint.js";
import type { HealthCheckSettings } from "./settings.js";

/** What the answers are good for. */
export interface Checked {
  readonly clock: Clock;
  readonly random: () => number;
  endpointsOf(backend: string): Endpoint[];
}

/** Answers in a row that a backend is not well, after which its models are taken out. */
const convinced = 2;

/** Active health checks of some backends. */
export class HealthChecks {
  readonly #settings: HealthCheckSettings;
  readonly #backends: readonly Backend[];
  readonly #checked: Checked;
  readonly #log: Logger;
  readonly #closing = new AbortController();
  readonly #timers = new Map<Backend, Timer>();
  readonly #failures = new Map<Backend, number>();
  #retired = false;

  constructor(
    settings: HealthCheckSettings,
    backends: readonly Backend[],
    checked: Checked,
    log: Logger,
  ) {
    this.#settings = settings;
    this.#backends = backends.filter(({ name }) => settings.backends?.includes(name) ?? true);
    this.#checked = checked;
    this.#log = log;
  }

  start(): void {
    // Not all at once.
    for (const backend of this.#backends) this.#plan(backend, this.#checked.random());
  }

  /** Another one asks for the calls that come from now on: it goes on for those that wait. */
  retire(): void {
    this.#retired = true;
  }

  close(): void {
    this.#closing.abort(shuttingDown());
    for (const timer of this.#timers.values()) timer.cancel();
  }

  #plan(backend: Backend, share: number): void {
    if (this.#closing.signal.aborted) return;
    const { clock } = this.#checked;
    const timer = clock.after(this.#settings.intervalMs * share, () => void this.#check(backend));
    this.#timers.set(backend, timer);
  }

  #isWanted({ name }: Backend): boolean {
    return !this.#retired || this.#checked.endpointsOf(name).some(({ queue }) => queue.size > 0);
  }

  async #check(backend: Backend): Promise<void> {
    // A call that runs may have to wait yet, where its target fails.
    if (!this.#isWanted(backend)) return this.#plan(backend, 1);
    const { clock } = this.#checked;
    const controller = new AbortController();
    const stop = () => controller.abort(this.#closing.signal.reason);
    this.#closing.signal.addEventListener("abort", stop, { once: true });
    const timer = clock.after(this.#settings.timeoutMs, () =>
      controller.abort(new LintelError("timeout", "the model server took too long")),
    );
    try {
      // A backend may be slow to notice.
      await unlessAborted(backend.health(controller.signal), controller.signal);
      this.#well(backend);
    } catch (thrown) {
      const error = toLintelError(thrown);
      if (this.#closing.signal.aborted) return;
      // It takes calls, and says why they fail.
      if (error.code === "model_not_loaded") this.#well(backend);
      // Busy, or the gateway is: of calls that counts neither way, too.
      else if (verdictOf(error.code) !== "neutral") this.#unwell(backend, error);
    } finally {
      timer.cancel();
      this.#closing.signal.removeEventListener("abort", stop);
      this.#plan(backend, 1);
    }
  }

  #well(backend: Backend): void {
    const failures = this.#failures.get(backend) ?? 0;
    this.#failures.set(backend, 0);
    const now = this.#checked.clock.now();
    for (const endpoint of this.#checked.endpointsOf(backend.name)) {
      // That the server is back does not mean that the model answers: one call tries it. Where
      // it was there all the time, that says nothing of why calls fail.
      if (failures > 0) endpoint.health.circuit.hasten(now);
      endpoint.serve(now);
    }
    if (failures >= convinced && !this.#retired) {
      this.#log.info({ backend: backend.name }, "the health check succeeds again");
    }
  }

  #unwell(backend: Backend, error: LintelError): void {
    const failures = (this.#failures.get(backend) ?? 0) + 1;
    this.#failures.set(backend, failures);
    if (failures < convinced) return;
    const now = this.#checked.clock.now();
    for (const endpoint of this.#checked.endpointsOf(backend.name)) endpoint.takeOut(now);
    if (failures > convinced || this.#retired) return;
    const { code } = error;
    const said = { backend: backend.name, code, reason: reasonOf(error) };
    this.#log.warn(said, "the health check fails");
  }
}
