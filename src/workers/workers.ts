/** The first process of several: it starts the others, hands connections to them, and outlives them. */
import cluster, { type Worker } from "node:cluster";
import { fileURLToPath } from "node:url";
import type { Config } from "../config/schema.js";
import { shuttingDown } from "../core/errors.js";
import { type Logger, reasonOf } from "../core/log.js";
import type { Reloaded } from "../reloading.js";
import { type RestartTimes, restartPause, restartTimes } from "../restart-pause.js";
import type { Texts, ToPrimary, ToWorker } from "./messages.js";
import { relay } from "./relay.js";

/** What workers are started with. */
export interface WorkersOptions {
  readonly config: Config;
  /** Where it comes from, for people; absent: defaults. */
  readonly file: string | undefined;
  readonly log: Logger;
  /** Takes whole lines that workers wrote to stderr: their logs. */
  readonly lines: (text: string) => void;
}

/** Longest that a worker is waited for with its metrics, milliseconds. */
const metricsMs = 1000;
/** What a worker may take to end beyond the time of its calls, milliseconds; then it is killed. */
const endMs = 15_000;

/** A worker, and who is started in its place. */
interface Slot {
  readonly number: number;
  process: Worker | undefined;
  listens: boolean;
  /** What it was started with, or took over since. */
  config: Config | undefined;
  /** Ends in a row, none of which lived long enough. */
  ends: number;
  timer: NodeJS.Timeout | undefined;
}

type Reply = Extract<ToPrimary, { readonly id: number }>;

/** As many processes as `workers` says, each of which is a gateway at the same addresses. */
export class Workers {
  readonly #options: WorkersOptions;
  readonly #slots: readonly Slot[];
  readonly #times: RestartTimes;
  /** What holds now, also for those that are started later. */
  #config: Config;
  /** Questions that were not answered yet. */
  readonly #asked = new Map<number, { readonly slot: Slot; answer(reply?: Reply): void }>();
  #questions = 0;
  /** Whether the gateway's start succeeded. */
  #up = false;
  #closing: Promise<void> | undefined;
  #allGone = () => {};

  constructor(options: WorkersOptions, times: RestartTimes = restartTimes) {
    this.#options = options;
    this.#times = times;
    this.#config = options.config;
    this.#slots = Array.from({ length: options.config.workers }, (_, i) => ({
      number: i + 1,
      process: undefined,
      listens: false,
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
   * @returns what the first one says at its start; `undefined`: it ended, and said why
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
   * Hands another configuration to all of them.
   * @throws LintelError `shutting_down`; Error if it can't be used: the one before stays
   */
  async reload(config: Config): Promise<Reloaded> {
    if (this.#closing) throw shuttingDown();
    const asked = this.#slots.map((slot) => this.#handOver(slot, config));
    const replies = (await Promise.all(asked)).filter((reply) => reply !== undefined);
    const taken = replies.find(({ reloaded }) => reloaded);
    if (!taken?.reloaded) {
      const [refusal] = replies;
      throw new Error(refusal?.refused ?? "no worker runs just now");
    }
    this.#config = taken.config;
    for (const { slot, reloaded } of replies) if (reloaded) slot.config = taken.config;
    // What one of them can't take over the others did: it begins anew under what holds now.
    for (const { slot, reloaded, refused } of replies) {
      if (reloaded) continue;
      this.#options.log.error({ worker: slot.number, problem: refused }, "a worker is replaced");
      this.#tell(slot, { lintel: "close", graceMs: config.timeouts.shutdown });
    }
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
        if (slot.listens) this.#tell(slot, { lintel: "close", graceMs });
        else slot.process?.process.kill("SIGKILL");
      }
      const hard = setTimeout(() => {
        for (const { process } of this.#slots) process?.process.kill("SIGKILL");
      }, graceMs + endMs);
      hard.unref();
      this.#lookForEnd();
    });
    return this.#closing;
  }

  /** Starts one; resolves when it listens, or with `undefined` once it ended. */
  #begin(slot: Slot): Promise<string | undefined> {
    const { lines, log } = this.#options;
    const begun = performance.now();
    let process: Worker;
    try {
      process = cluster.fork();
    } catch (error) {
      this.#ended(slot, 0, `before it began: ${reasonOf(error)}`);
      return Promise.resolve(undefined);
    }
    slot.process = process;
    slot.listens = false;
    relay(process.process.stderr, lines);
    // Nothing but the banner, which comes as a message.
    process.process.stdout?.resume();
    return new Promise((resolve) => {
      process.on("message", (message: ToPrimary) => {
        if (message.lintel === "here") this.#order(slot);
        else if (message.lintel === "listening") {
          slot.listens = true;
          log.info({ worker: slot.number, pid: process.process.pid }, "a worker listens");
          resolve(message.banner);
          // There was a reload while it started.
          if (slot.config !== this.#config) void this.#handOver(slot, this.#config);
        } else if (message.lintel === "all metrics") void this.#gather(slot, message.id);
        else this.#asked.get(message.id)?.answer(message);
      });
      process.on("error", () => {});
      // Behind the last of what it wrote.
      process.process.on("close", (code, signal) => {
        resolve(undefined);
        this.#ended(slot, performance.now() - begun, signal ? `by ${signal}` : `with ${code}`);
      });
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
    for (const question of this.#asked.values()) if (question.slot === slot) question.answer();
    if (this.#closing) this.#lookForEnd();
    // The first one could not start, so neither does the gateway.
    if (this.#closing || !this.#up) return;
    if (lived >= this.#times.healthyAfter) slot.ends = 0;
    const pause = restartPause(slot.ends++, this.#times);
    const told = { worker: slot.number, ending: how, ends: slot.ends, pause };
    this.#options.log.error(told, "a worker ended: it is started again");
    slot.timer = setTimeout(() => void this.#begin(slot), pause);
  }

  #lookForEnd(): void {
    if (this.#slots.every((slot) => slot.process === undefined)) this.#allGone();
  }

  async #handOver(slot: Slot, config: Config) {
    const reply = await this.#ask(slot, (id) => ({ lintel: "reload", id, config }));
    return reply?.lintel === "reloaded" ? { slot, ...reply } : undefined;
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
  #ask(
    slot: Slot,
    question: (id: number) => ToWorker,
    mostMs?: number,
  ): Promise<Reply | undefined> {
    if (!slot.listens) return Promise.resolve(undefined);
    const id = this.#questions++;
    return new Promise((resolve) => {
      const answer = (reply?: Reply): void => {
        clearTimeout(timer);
        this.#asked.delete(id);
        resolve(reply);
      };
      const timer = mostMs === undefined ? undefined : setTimeout(answer, mostMs);
      this.#asked.set(id, { slot, answer });
      this.#tell(slot, question(id));
    });
  }

  #tell({ process }: Slot, message: ToWorker): void {
    if (process?.isConnected()) process.send(message, () => {});
  }
}
