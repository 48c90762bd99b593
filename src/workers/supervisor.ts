/** Keeps a worker in each slot: starts it, starts another where it ended, and lets those leave that are told to. */
import cluster from "node:cluster";
import { fileURLToPath } from "node:url";
import { type Logger, reasonOf } from "../core/log.js";
import type { HeartbeatTimes } from "../heartbeat.js";
import { type RestartTimes, restartPause } from "../restart-pause.js";
import { type Said, WorkerProcess } from "./process.js";
import type { Slot } from "./slot.js";

/** Times of the workers. */
export interface WorkerTimes extends RestartTimes, HeartbeatTimes {
  /** What one may take to end beyond the time of its calls, milliseconds; then it is killed. */
  readonly endMs: number;
}

/** What workers are kept with. */
export interface SupervisorOptions {
  readonly slots: readonly Slot[];
  readonly log: Logger;
  /** Takes whole lines that workers wrote to stderr: their logs. */
  readonly lines: (text: string) => void;
  readonly times: WorkerTimes;
  /** How long running calls of one that leaves may take, milliseconds. */
  readonly graceMs: () => number;
}

/** What a worker says that is not about its own life. */
export type WorkerMessage = Exclude<Said, { readonly lintel: "listening" | "terminated" }>;

/** Hears of workers. */
export interface WorkerEvents {
  said(slot: Slot, message: WorkerMessage): void;
  listens(slot: Slot): void;
  /** It answers no more. */
  ended(slot: Slot): void;
}

/** Within which time a signal to a worker is one to all processes, as service managers send it, milliseconds. */
const groupMs = 250;

/** The lives of the workers. */
export class Supervisor {
  readonly #options: SupervisorOptions;
  readonly #events: WorkerEvents;
  /** Whether the gateway's start succeeded. */
  #up = false;
  #closing: Promise<void> | undefined;
  #allGone = () => {};

  constructor(options: SupervisorOptions, events: WorkerEvents) {
    this.#options = options;
    this.#events = events;
  }

  /**
   * Starts all of them: the first alone, so that what is wrong with the addresses is said once. Once that
   * one serves, nobody waits for the others.
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
    const [first, ...others] = this.#options.slots;
    if (!first || !(await this.#begin(first))) return false;
    this.#up = true;
    for (const slot of others) void this.#begin(slot);
    return true;
  }

  /** Lets one end once its calls have; another is started in its place. */
  leave(slot: Slot): void {
    slot.leaves = true;
    this.#end(slot, this.#options.graceMs());
  }

  /**
   * Ends all of them. Always resolves.
   * @param graceMs after which running calls are aborted, milliseconds
   */
  close(graceMs: number): Promise<void> {
    this.#closing ??= new Promise((resolve) => {
      this.#allGone = resolve;
      for (const slot of this.#options.slots) {
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
    const { lines, log, times } = this.#options;
    const { number: worker } = slot;
    const begun = performance.now();
    slot.listens = false;
    slot.terminated = false;
    slot.leaves = false;
    return new Promise((resolve) => {
      const said = (message: Said) => {
        switch (message.lintel) {
          case "listening":
            slot.listens = true;
            log.info({ worker, pid: slot.process?.pid }, "a worker listens");
            resolve(true);
            for (const waiting of this.#options.slots) this.#replace(waiting);
            return this.#events.listens(slot);
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
          default:
            this.#events.said(slot, message);
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
        slot.process = new WorkerProcess({ said, gone, hangs, ended }, lines, times);
      } catch (error) {
        ended(`before it began: ${reasonOf(error)}`);
      }
    });
  }

  #ended(slot: Slot, lived: number, how: string): void {
    slot.process = undefined;
    // Its end may be heard of ahead of its channel's: who asked it then would wait without end.
    slot.listens = false;
    this.#events.ended(slot);
    if (this.#closing) {
      this.#lookForEnd();
      return;
    }
    const { log, times } = this.#options;
    if (!this.#up) {
      // The first one could not start, so neither does the gateway. It has said why, unless it was killed.
      const told = { worker: slot.number, ending: how };
      if (how !== "with 1") log.error(told, "the first worker ended before it listened");
      return;
    }
    if (lived >= times.healthyAfter) slot.ends = 0;
    const pause = restartPause(slot.ends++, times);
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
    if (this.#options.slots.every((slot) => slot.process === undefined)) this.#allGone();
  }

  /** Lets one leave that a signal told to, if another one serves: the last would only refuse calls. */
  #replace(slot: Slot): void {
    if (this.#closing || !slot.terminated || slot.leaves || !this.#othersServe(slot)) return;
    const told = { worker: slot.number, pid: slot.process?.pid };
    this.#options.log.info(told, "a worker leaves, as it was told by a signal");
    this.leave(slot);
  }

  #end({ process }: Slot, graceMs: number): void {
    process?.tell({ lintel: "close", graceMs });
    setTimeout(() => process?.kill(), graceMs + this.#options.times.endMs).unref();
  }

  #othersServe(than: Slot): boolean {
    return this.#options.slots.some(
      (slot) => slot !== than && slot.listens && !slot.leaves && slot.process?.connected,
    );
  }
}
