/** The pipeline's thread, as the main thread sees it. */
import type { Worker } from "node:worker_threads";
import type { LintelError } from "../../core/errors.js";
import { startThread } from "../../thread.js";
import { EngineProgress } from "../engine-progress.js";
import type {
  Failure,
  ImageEvent,
  ImageJob,
  Order,
  Report,
  ThreadSettings,
  Where,
} from "./protocol.js";
import { silenceEngine } from "./telemetry.js";
import { giveUp, processTurns } from "./turns.js";

/** The pipeline said that something failed. */
export class PipelineFailure extends Error {
  override readonly name = "PipelineFailure";
  /** The request's field that is at fault; absent: the model is. */
  readonly param: string | undefined;
  /** Whether nothing is: it may work soon. */
  readonly passing: boolean;

  constructor({ message, param, passing = false, cause }: Failure) {
    super(message, { cause });
    this.param = param;
    this.passing = passing;
  }
}

/** A job that runs. */
interface Current {
  readonly aborted: Int32Array;
  readonly onEvent: (event: ImageEvent) => void;
  readonly settle: (failure?: PipelineFailure) => void;
}

/** A thread with a pipeline in it, which runs one job at a time. */
export class PipelineThread {
  /** Resolves with where it runs when the model is loaded, rejects with a `PipelineFailure` if it can't be. */
  readonly loaded: Promise<Where>;
  /** Resolves when the thread is gone, for whatever reason. */
  readonly gone: Promise<void>;
  readonly #worker: Worker;
  readonly #admit: () => Promise<void>;
  readonly #progress: EngineProgress;
  #current: Current | undefined;
  #fault: unknown;
  #isGone = false;
  #memory = 0;

  /**
   * @param admit called before a job takes more memory, which `memory` has then; rejects with a LintelError if it may not, `overloaded` if not now
   * @param progress told what it does once the model is loaded; default: nobody is
   */
  constructor(
    settings: ThreadSettings,
    admit: () => Promise<void> = async () => {},
    progress = new EngineProgress(),
  ) {
    this.#admit = admit;
    this.#progress = progress;
    silenceEngine();
    const data: ThreadSettings = { ...settings, turns: processTurns };
    this.#worker = startThread("./worker", import.meta.url, { name: "lintel-images", data });
    const { threadId } = this.#worker;
    this.#worker.on("error", (error) => {
      this.#fault = error;
    });
    this.gone = new Promise((resolve) => {
      this.#worker.once("exit", () => {
        this.#isGone = true;
        giveUp(processTurns, threadId);
        this.#end(this.#goneFailure());
        resolve();
      });
    });
    this.loaded = new Promise((resolve, reject) => {
      this.#worker.on("message", (report: Report) => {
        if ("memory" in report) this.#memory = report.memory;
        if (report.type === "loaded") resolve(report.where);
        else if (report.type === "unloadable") reject(new PipelineFailure(report.failure));
        else if (report.type === "room") void this.#makeRoom();
        else this.#take(report);
      });
      this.gone.then(() => reject(this.#goneFailure()));
    });
    this.loaded.catch(() => {}); // Whoever asks later still gets it.
  }

  /** Bytes that the model takes, or is about to take, about; 0 before it is loaded. */
  get memory(): number {
    return this.#memory;
  }

  /**
   * Runs a job; only one at a time.
   * @returns when the job is over: done, or stopped after `abort`
   * @throws PipelineFailure if it failed
   */
  run(job: ImageJob, onEvent: (event: ImageEvent) => void): Promise<void> {
    if (this.#isGone) return Promise.reject(this.#goneFailure());
    return new Promise((resolve, reject) => {
      const aborted = new Int32Array(new SharedArrayBuffer(4));
      const settle = (failure?: PipelineFailure) => (failure ? reject(failure) : resolve());
      this.#current = { aborted, onEvent, settle };
      this.#progress.begin();
      this.#order({ type: "run", job, aborted: aborted.buffer as SharedArrayBuffer });
    });
  }

  /** Has the job that runs stop before its next step. */
  abort(): void {
    if (this.#current) Atomics.store(this.#current.aborted, 0, 1);
  }

  /** Has the thread leave, after the step that runs now; resolves when it is gone. */
  close(): Promise<void> {
    this.abort();
    this.#order({ type: "close" });
    this.#progress.begin();
    return this.gone.finally(() => this.#progress.end());
  }

  #take(report: Extract<Report, { type: "event" | "ended" }>): void {
    if (report.type === "event") {
      this.#progress.moved();
      this.#current?.onEvent(report.event);
    } else this.#end(report.failure && new PipelineFailure(report.failure));
  }

  #end(failure?: PipelineFailure): void {
    const current = this.#current;
    this.#current = undefined;
    if (!current) return;
    this.#progress.end();
    current.settle(failure);
  }

  async #makeRoom(): Promise<void> {
    // Others' calls may have to end first.
    this.#progress.end();
    const refusal = await this.#admit().then(
      () => undefined,
      ({ code, message }: LintelError): Failure => ({ message, passing: code === "overloaded" }),
    );
    this.#progress.begin();
    this.#order({ type: "room", refusal });
  }

  #order(order: Order): void {
    this.#worker.postMessage(order);
  }

  #goneFailure(): PipelineFailure {
    const cause = this.#fault instanceof Error ? this.#fault.stack : undefined;
    return new PipelineFailure({ message: "the image engine's thread ended", cause });
  }
}
