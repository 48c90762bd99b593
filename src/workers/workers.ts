/** The first process of several: it starts the others, hands connections to them, and outlives them. */
import type { Config } from "../config/schema.js";
import type { Logger } from "../core/log.js";
import type { MetricsForm } from "../core/telemetry.js";
import { heartbeatTimes } from "../heartbeat.js";
import { type LastReload, noReload, type Reloaded } from "../reloading.js";
import { restartTimes } from "../restart-pause.js";
import { Inquiry } from "./inquiry.js";
import { Rollout } from "./rollout.js";
import { newSlot, type Slot } from "./slot.js";
import { Supervisor, type WorkerMessage, type WorkerTimes } from "./supervisor.js";

/** What workers are started with. */
export interface WorkersOptions {
  readonly config: Config;
  /** Where it comes from, for people; absent: defaults. */
  readonly file: string | undefined;
  readonly log: Logger;
  /** Takes whole lines that workers wrote to stderr: their logs. */
  readonly lines: (text: string) => void;
}

/** Values of the product. */
const workerTimes: WorkerTimes = { ...restartTimes, ...heartbeatTimes, endMs: 15_000 };

/** As many processes as `workers` says, each of which is a gateway at the same addresses. */
export class Workers {
  readonly #file: string | undefined;
  readonly #slots: readonly Slot[];
  readonly #supervisor: Supervisor;
  readonly #rollout: Rollout;
  readonly #inquiry: Inquiry;
  #say: (banner: string) => void = () => {};
  /** What the first worker says once it is known which models there are. */
  readonly banner = new Promise<string>((resolve) => {
    this.#say = resolve;
  });
  #lastReload = noReload;

  constructor({ config, file, log, lines }: WorkersOptions, times: WorkerTimes = workerTimes) {
    this.#file = file;
    const slots = Array.from({ length: config.workers }, (_, i) => newSlot(i + 1));
    this.#slots = slots;
    this.#inquiry = new Inquiry(slots);
    this.#rollout = new Rollout(config, {
      slots,
      ask: (slot, question) => this.#inquiry.ask(slot, question),
      refused: (slot, problem) => {
        // It begins anew under what holds now.
        log.error({ worker: slot.number, problem }, "a worker is replaced");
        this.#supervisor.leave(slot);
      },
      waits: () =>
        log.warn({}, "no worker listens: the configuration is handed over once one does"),
    });
    const graceMs = () => this.config.timeouts.shutdown;
    this.#supervisor = new Supervisor(
      { slots, log, lines, times, graceMs },
      {
        said: (slot, message) => this.#hear(slot, message),
        listens: (slot) => {
          this.#tellOfReload(slot);
          // There was a reload while it started.
          void this.#rollout.catchUp(slot);
        },
        ended: (slot) => this.#inquiry.ended(slot),
      },
    );
  }

  /** What holds now. */
  get config(): Config {
    return this.#rollout.config;
  }

  /**
   * Starts all of them: the first alone, so that what is wrong with the addresses is said once. Once that
   * one serves, nobody waits for the others: all of them may be told something, or to end.
   * @returns whether the first one listens; if not, it ended, and it is said why
   */
  start(): Promise<boolean> {
    return this.#supervisor.start();
  }

  /**
   * Hands another configuration to all of them, after those that are being handed over; where all are
   * being started, to the first that listens.
   * @throws LintelError `shutting_down`; Error if it can't be used: the one before stays
   */
  reload(config: Config): Promise<Reloaded> {
    return this.#rollout.reload(config);
  }

  /** Tells all of them how a reload went. */
  reloaded(how: Partial<LastReload>): void {
    this.#lastReload = { ...this.#lastReload, ...how };
    for (const slot of this.#slots) if (slot.listens) this.#tellOfReload(slot);
  }

  /** How many calls run in all of them; of one that hangs it is not known. */
  calls(): Promise<number> {
    return this.#inquiry.calls();
  }

  /**
   * Ends all of them. Always resolves.
   * @param graceMs after which running calls are aborted, milliseconds
   */
  close(graceMs: number): Promise<void> {
    this.#rollout.stop();
    return this.#supervisor.close(graceMs);
  }

  #hear(slot: Slot, message: WorkerMessage): void {
    switch (message.lintel) {
      case "here":
        this.#order(slot);
        break;
      case "banner":
        this.#say(message.text);
        break;
      case "all metrics":
        void this.#gather(slot, message.id, message.form);
        break;
      case "all statuses":
        void this.#gatherStatuses(slot, message.id);
        break;
      default:
        this.#inquiry.answered(message);
    }
  }

  #order(slot: Slot): void {
    const { config } = this.#rollout;
    slot.config = config;
    const start = { lintel: "start", worker: slot.number, config, file: this.#file } as const;
    slot.process?.tell(start);
  }

  async #gather(asking: Slot, id: number, form: MetricsForm): Promise<void> {
    const texts = await this.#inquiry.metrics(form);
    asking.process?.tell({ lintel: "all metrics", id, texts });
  }

  async #gatherStatuses(asking: Slot, id: number): Promise<void> {
    const statuses = await this.#inquiry.statuses();
    asking.process?.tell({ lintel: "all statuses", id, statuses });
  }

  #tellOfReload({ process }: Slot): void {
    process?.tell({ lintel: "reloaded", how: this.#lastReload });
  }
}
