/** The first process of several: it starts the others, hands connections to them, and outlives them. */
import cluster from "node:cluster";
import { fileURLToPath } from "node:url";
import type { Config } from "../config/schema.js";
import { shuttingDown } from "../core/errors.js";
import { type Logger, reasonOf } from "../core/log.js";
import type { Reloaded } from "../reloading.js";
import { type RestartTimes, restartPause, restartTimes } from "../restart-pause.js";
import { type HeartbeatTimes, heartbeatTimes } from "./heartbeat.js";
import type { Texts, ToPrimary, ToWorker } from "./messages.js";
import { type Said, WorkerProcess } from "./process.js";
import { Questions } from "./questions.js";
import type { Slot } from "./slot.js";

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
export interface WorkerTimes extends RestartTimes, HeartbeatTimes {}

/** Longest that a worker is waited for with its metrics, milliseconds. */
const metricsMs = 1000;
/** Within which time a signal to a worker is one to all processes, as service managers send it, milliseconds. */
const groupMs = 250;
/** What a worker may take to end beyond the time of its calls, milliseconds; then it is killed. */
const endMs = 15_000;

type Reply = Extract<ToPrimary, { readonly id: number }>;
type Handed = { readonly slot: Slot } & Extract<Reply, { readonly lintel: "reloaded" }>;

/** As many processes as `workers` says, each of which is a gateway at the same addresses. */
export class Workers {
  readonly #options: WorkersOptions;
  readonly #slots: readonly Slot[];
  readonly #times: WorkerTimes;
  /** What holds now, also for those that are started later. */
  #config: Config;
  readonly #questions = new Questions<Slot, Reply>();
  /** Ends when no reload runs. */
  #turn: Promise<unknown> = Promise.resolve();
  /** Whether the gateway's start succeeded. */
  #up = false;
  #closing: Promise<void> | undefined;
  #allGone = () => {};

  constructor(
    options: WorkersOptions,
    times: WorkerTimes = { ...restartTimes, ...heartbeatTimes },
  ) {
    this.#options = options;
    this.#times = times;
    this.#config = options.config;
    this.#slots = Array.from({ length: options.config.workers }, (_, i) => ({
      number: i + 1,
      process: undefined,
      listens: false,
      leaves: false,
      config: undefined,
      ends: 0,
      timer: undefined,
    }));
  }

  /** What holds now. */
  get config(): Config {
    return this.#config;
  }

  /**
   * Starts all of them: the first alone, so that what is wrong with the addresses is said once.
   * @returns what the first one says at its start; `undefined`: it ended, and it is said why
   */
  async start(): Promise<string | undefined> {
    cluster.setupPrimary({
      exec: fileURLToPath(new URL("../main.js", import.meta.url)),
      args: ["serve"],
      silent: true,
      // Numbers without end, as of what is unlimited, are lost as JSON.
      serialization: "advanced",
    });
    const [first, ...others] = this.#slots;
    const banner = first && (await this.#begin(first));
    if (banner === undefined) return undefined;
    this.#up = true;
    await Promise.all(others.map((slot) => this.#begin(slot)));
    return banner;
  }

  /**
   * Hands another configuration to all of them, after those that are being handed over.
   * @throws LintelError `shutting_down`; Error if it can't be used: the one before stays
   */
  reload(config: Config): Promise<Reloaded> {
    const reloaded = this.#turn.then(() => this.#reload(config));
    this.#turn = reloaded.catch(() => {});
    return reloaded;
  }

  async #reload(config: Config): Promise<Reloaded> {
    if (this.#closing) throw shuttingDown();
    const asked = this.#slots.map((slot) => this.#handOver(slot, config));
    const replies = (await Promise.all(asked)).filter((reply) => reply !== undefined);
    const taken = replies.find(({ reloaded }) => reloaded);
    if (!taken?.reloaded) {
      const [refusal] = replies;
      throw new Error(refusal?.refused ?? "no worker runs just now");
    }
    this.#config = taken.config;
    for (const reply of replies) this.#note(reply);
    // Those that began to listen meanwhile were not asked.
    await Promise.all(this.#slots.map((slot) => this.#catchUp(slot)));
    return taken.reloaded;
  }

  /**
   * Ends all of them. Always resolves.
   * @param graceMs after which running calls are aborted, milliseconds
   */
  close(graceMs: number): Promise<void> {
    this.#closing ??= new Promise((resolve) => {
      this.#allGone = resolve;
      for (const slot of this.#slots) {
        clearTimeout(slot.timer);
        // Before it listens it has nothing to end.
        if (slot.listens) this.#tell(slot, { lintel: "close", graceMs, alone: false });
        else slot.process?.kill();
      }
      const hard = setTimeout(() => {
        for (const { process } of this.#slots) process?.kill();
      }, graceMs + endMs);
      hard.unref();
      this.#lookForEnd();
    });
    return this.#closing;
  }

  /** Starts one; resolves when it listens, or with `undefined` once it ended. */
  #begin(slot: Slot): Promise<string | undefined> {
    const { lines, log } = this.#options;
    const { number: worker } = slot;
    const begun = performance.now();
    slot.listens = false;
    slot.leaves = false;
    return new Promise((resolve) => {
      const said = (message: Said) => {
        switch (message.lintel) {
          case "here":
            return this.#order(slot);
          case "listening":
            slot.listens = true;
            log.info({ worker, pid: slot.process?.pid }, "a worker listens");
            resolve(message.banner);
            // There was a reload while it started.
            return void this.#catchUp(slot);
          case "terminated": {
            const { process } = slot;
            setTimeout(() => slot.process === process && this.#replace(slot), groupMs).unref();
            return;
          }
          case "all metrics":
            return void this.#gather(slot, message.id);
          default:
            this.#questions.answered(message.id, message);
        }
      };
      const gone = () => {
        slot.listens = false;
        return this.#othersServe();
      };
      const hangs = (forMs: number) =>
        log.error({ worker, pid: slot.process?.pid, forMs }, "a worker hangs: it is killed");
      const ended = (how: string) => {
        resolve(undefined);
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
    slot.config = this.#config;
    this.#tell(slot, { lintel: "start", worker, config: this.#config, file });
  }

  #ended(slot: Slot, lived: number, how: string): void {
    slot.process = undefined;
    slot.listens = false;
    this.#questions.ended(slot);
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
    const left = slot.leaves && how === "with 0";
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

  async #handOver(slot: Slot, config: Config) {
    if (slot.leaves) return undefined;
    const reply = await this.#ask(slot, (id) => ({ lintel: "reload", id, config }));
    return reply?.lintel === "reloaded" ? { slot, ...reply } : undefined;
  }

  /** Hands what holds now to one that listens under something else. */
  async #catchUp(slot: Slot): Promise<void> {
    if (!slot.listens || slot.config === this.#config) return;
    const reply = await this.#handOver(slot, this.#config);
    if (reply) this.#note(reply);
  }

  /** What one of them can't take over the others did: it begins anew under what holds now. */
  #note({ slot, reloaded, refused }: Handed): void {
    if (reloaded) {
      slot.config = this.#config;
      return;
    }
    // It began to leave meanwhile.
    if (slot.leaves) return;
    this.#options.log.error({ worker: slot.number, problem: refused }, "a worker is replaced");
    this.#leave(slot);
  }

  /** A signal told this one to end. */
  #replace(slot: Slot): void {
    if (this.#closing || slot.leaves) return;
    const told = { worker: slot.number, pid: slot.process?.pid };
    this.#options.log.info(told, "a worker leaves, as it was told by a signal");
    this.#leave(slot);
  }

  #leave(slot: Slot): void {
    slot.leaves = true;
    const graceMs = this.#config.timeouts.shutdown;
    this.#tell(slot, { lintel: "close", graceMs, alone: this.#othersServe() });
  }

  #othersServe(): boolean {
    return this.#slots.some(({ listens, leaves }) => listens && !leaves);
  }

  async #gather(asking: Slot, id: number): Promise<void> {
    const texts = new Map<number, string>();
    const all = this.#slots.map(async (slot) => {
      const reply = await this.#ask(slot, (id) => ({ lintel: "metrics", id }), metricsMs);
      if (reply?.lintel === "metrics") texts.set(slot.number, reply.text);
    });
    await Promise.all(all);
    const inOrder: Texts = new Map([...texts].sort(([a], [b]) => a - b));
    this.#tell(asking, { lintel: "all metrics", id, texts: inOrder });
  }

  /** Asks one that listens; `undefined` if it does not, ends, or takes too long. */
  async #ask(slot: Slot, question: (id: number) => ToWorker, mostMs?: number) {
    if (!slot.listens) return undefined;
    return this.#questions.ask(slot, (id) => this.#tell(slot, question(id)), mostMs);
  }

  #tell({ process }: Slot, message: ToWorker): void {
    process?.tell(message);
  }
}
