/** The first process of several: it starts the others, hands connections to them, and outlives them. */
import cluster from "node:cluster";
import { fileURLToPath } from "node:url";
import type { Config } from "../config/schema.js";
import { type Logger, reasonOf } from "../core/log.js";
import { type HeartbeatTimes, heartbeatTimes } from "../heartbeat.js";
import { type LastReload, noReload, type Reloaded } from "../reloading.js";
import { type RestartTimes, restartPause, restartTimes } from "../restart-pause.js";
import { Inquiry } from "./inquiry.js";
import type { ToWorker } from "./messages.js";
import { type Said, WorkerProcess } from "./process.js";
import { Rollout } from "./rollout.js";
import { newSlot, type Slot } from "./slot.js";

/** What workers are started with. */
export interface WorkersOptions {
  readonly config: Config;
  /** Where it comes from, for people; absent: defaults. */
  readonly file: string | undefined;
  readonly log: Logger;
  /** Takes whole lines that workers wrote to stderr: their logs. */
  readonly lines: (text: string) => void;
}

/** Times of the workers. */
export interface WorkerTimes extends RestartTimes, HeartbeatTimes {
  /** What one may take to end beyond the time of its calls, milliseconds; then it is killed. */
  readonly endMs: number;
}

/** Within which time a signal to a worker is one to all processes, as service managers send it, milliseconds. */
const groupMs = 250;
/** Values of the product. */
const workerTimes: WorkerTimes = { ...restartTimes, ...heartbeatTimes, endMs: 15_000 };

/** As many processes as `workers` says, each of which is a gateway at the same addresses. */
export class Workers {
  readonly #options: WorkersOptions;
  readonly #slots: readonly Slot[];
  readonly #times: WorkerTimes;
  readonly #rollout: Rollout;
  readonly #inquiry: Inquiry;
  /** Whether the gateway's start succeeded. */
  #up = false;
  #say: (banner: string) => void = () => {};
  /** What the first worker says once it is known which models there are. */
  readonly banner = new Promise<string>((resolve) => {
    this.#say = resolve;
  });
  #lastReload = noReload;
  #closing: Promise<void> | undefined;
  #allGone = () => {};

  constructor(options: WorkersOptions, times: WorkerTimes = workerTimes) {
    this.#options = options;
    this.#times = times;
    this.#slots = Array.from({ length: options.config.workers }, (_, i) => newSlot(i + 1));
    this.#inquiry = new Inquiry(this.#slots);
    this.#rollout = new Rollout(options.config, {
      slots: this.#slots,
      ask: (slot, question) => this.#inquiry.ask(slot, question),
      refused: (slot, problem) => {
        // It begins anew under what holds now.
        options.log.error({ worker: slot.number, problem }, "a worker is replaced");
        this.#leave(slot);
      },
      waits: () =>
        options.log.warn({}, "no worker listens: the configuration is handed over once one does"),
    });
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
  async start(): Promise<boolean> {
    cluster.setupPrimary({
      exec: fileURLToPath(new URL("../main.js", import.meta.url)),
      args: ["serve"],
      silent: true,
      // Numbers without end, as of what is unlimited, are lost as JSON.
      serialization: "advanced",
    });
    const [first, ...others] = this.#slots;
    if (!first || !(await this.#begin(first))) return false;
    this.#up = true;
    for (const slot of others) void this.#begin(slot);
    return true;
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
    this.#closing ??= new Promise((resolve) => {
      this.#allGone = resolve;
      this.#rollout.stop();
      for (const slot of this.#slots) {
        clearTimeout(slot.timer);
        // Before it listens it has nothing to end.
        if (slot.listens) this.#end(slot, graceMs);
        else slot.process?.kill();
      }
      this.#lookForEnd();
    });
    return this.#closing;
  }

  /** Starts one; resolves with whether it listens, once it does or ended. */
  #begin(slot: Slot): Promise<boolean> {
    const { lines, log } = this.#options;
    const { number: worker } = slot;
    const begun = performance.now();
    slot.listens = false;
    slot.terminated = false;
    slot.leaves = false;
    return new Promise((resolve) => {
      const said = (message: Said) => {
        switch (message.lintel) {
          case "here":
            return this.#order(slot);
          case "listening":
            slot.listens = true;
            log.info({ worker, pid: slot.process?.pid }, "a worker listens");
            resolve(true);
            for (const waiting of this.#slots) this.#replace(waiting);
            this.#tellOfReload(slot);
            // There was a reload while it started.
            return void this.#rollout.catchUp(slot);
          case "banner":
            return this.#say(message.text);
          case "terminated": {
            const { process } = slot;
            const alone = () => {
              if (slot.process !== process) return;
              slot.terminated = true;
              this.#replace(slot);
            };
            setTimeout(alone, groupMs).unref();
            return;
          }
          case "all metrics":
            return void this.#gather(slot, message.id);
          default:
            this.#inquiry.answered(message);
        }
      };
      const gone = () => {
        slot.listens = false;
        return this.#othersServe(slot);
      };
      const hangs = (forMs: number) =>
        log.error({ worker, pid: slot.process?.pid, forMs }, "a worker hangs: it is killed");
      const ended = (how: string) => {
        resolve(false);
        this.#ended(slot, performance.now() - begun, how);
      };
      try {
        slot.process = new WorkerProcess({ said, gone, hangs, ended }, lines, this.#times);
      } catch (error) {
        ended(`before it began: ${reasonOf(error)}`);
      }
    });
  }

  #order(slot: Slot): void {
    const { number: worker } = slot;
    const { file } = this.#options;
    const { config } = this.#rollout;
    slot.config = config;
    this.#tell(slot, { lintel: "start", worker, config, file });
  }

  #ended(slot: Slot, lived: number, how: string): void {
    slot.process = undefined;
    // Its end may be heard of ahead of its channel's: who asked it then would wait without end.
    slot.listens = false;
    this.#inquiry.ended(slot);
    if (this.#closing) {
      this.#lookForEnd();
      return;
    }
    const { log } = this.#options;
    if (!this.#up) {
      // The first one could not start, so neither does the gateway. It has said why, unless it was killed.
      const told = { worker: slot.number, ending: how };
      if (how !== "with 1") log.error(told, "the first worker ended before it listened");
      return;
    }
    if (lived >= this.#times.healthyAfter) slot.ends = 0;
    const pause = restartPause(slot.ends++, this.#times);
    // The second is of one that was told before it ran any code of ours.
    const left = (slot.leaves && how === "with 0") || how === "by SIGTERM";
    if (left) log.info({ worker: slot.number, pause }, "a worker left: it is started again");
    else {
      const told = { worker: slot.number, ending: how, ends: slot.ends, pause };
      log.error(told, "a worker ended: it is started again");
    }
    slot.timer = setTimeout(() => void this.#begin(slot), pause);
  }

  #lookForEnd(): void {
    if (this.#slots.every((slot) => slot.process === undefined)) this.#allGone();
  }

  /** Lets one leave that a signal told to, if another one serves: the last would only refuse calls. */
  #replace(slot: Slot): void {
    if (this.#closing || !slot.terminated || slot.leaves || !this.#othersServe(slot)) return;
    const told = { worker: slot.number, pid: slot.process?.pid };
    this.#options.log.info(told, "a worker leaves, as it was told by a signal");
    this.#leave(slot);
  }

  #leave(slot: Slot): void {
    slot.leaves = true;
    this.#end(slot, this.config.timeouts.shutdown);
  }

  #end(slot: Slot, graceMs: number): void {
    const { process } = slot;
    this.#tell(slot, { lintel: "close", graceMs });
    setTimeout(() => process?.kill(), graceMs + this.#times.endMs).unref();
  }

  #othersServe(than: Slot): boolean {
    return this.#slots.some(
      (slot) => slot !== than && slot.listens && !slot.leaves && slot.process?.connected,
    );
  }

  async #gather(asking: Slot, id: number): Promise<void> {
    this.#tell(asking, { lintel: "all metrics", id, texts: await this.#inquiry.metrics() });
  }

  #tellOfReload(slot: Slot): void {
    this.#tell(slot, { lintel: "reloaded", how: this.#lastReload });
  }

  #tell({ process }: Slot, message: ToWorker): void {
    process?.tell(message);
  }
}
