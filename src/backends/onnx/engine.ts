/** One image model: loads it, runs its jobs one at a time, and stops what nobody wants any more. */
import type { CallSignal } from "../../core/cancellation.js";
import { LintelError } from "../../core/errors.js";
import type { EngineProgress } from "../engine-progress.js";
import { retryMs } from "../resident.js";
import { Line } from "./line.js";
import type { ImageJob, ThreadSettings, Where } from "./protocol.js";
import { type EngineEvent, RunningJob } from "./running-job.js";
import { PipelineFailure, PipelineThread } from "./thread.js";

/** State of the model, for the list of models. */
export type EngineState =
  | { readonly name: "idle" | "loading" }
  | { readonly name: "ready"; readonly where: Where }
  | { readonly name: "failed"; readonly detail: string; readonly error: Error };

/** What the engine does besides running the thread. */
export interface EngineOptions {
  /** Jobs that may wait. */
  readonly queue: number;
  /** Called before the model is loaded, or takes more; resolves when it may. */
  admit(): Promise<void>;
  /** @throws LintelError `model_not_loaded` if the model is not to be loaded */
  check(): void;
  /** Does that part of a load that may end the process. */
  watch<T>(load: () => Promise<T>): Promise<T>;
  /** Told what the thread does once the model is loaded. */
  readonly progress?: EngineProgress | undefined;
  /** Told of each change. */
  onState(state: EngineState): void;
}

/** The error for calls of an engine that goes for good. */
export const closing = () => new LintelError("shutting_down", "the image engine is shutting down");

/** One image model with the thread that its jobs run in, one after the other. */
export class ImageEngine {
  readonly #settings: ThreadSettings;
  readonly #options: EngineOptions;
  #thread: PipelineThread | undefined;
  #starting: Promise<PipelineThread> | undefined;
  /** When the model could not be loaded, the last time, by `performance.now`. */
  #failedAt = Number.POSITIVE_INFINITY;
  readonly #line = new Line();
  #leaving: Promise<void> | undefined;
  #closed = false;
  /** The jobs that run or wait. */
  readonly #running = new Set<RunningJob>();
  /** How long the latest jobs took, on average, milliseconds. */
  #usual = 0;

  /** Begins as idle. */
  constructor(settings: ThreadSettings, options: EngineOptions) {
    this.#settings = settings;
    this.#options = options;
  }

  /** Jobs that run or wait. */
  get calls(): number {
    return this.#line.length;
  }

  /** Bytes that the model takes, or is about to take, about; 0 while it is not loaded. */
  get memory(): number {
    return this.#thread?.memory ?? 0;
  }

  /**
   * Loads the model, or waits until it is loaded. A model that can't be loaded is
   * tried again after `retryMs`; one whose thread died later is loaded anew.
   * @throws LintelError `model_not_loaded` that says why it can't be loaded
   */
  async load(): Promise<void> {
    await this.#loaded();
  }

  /**
   * Frees the model once the jobs that run or wait now are over. One that could
   * not be loaded is tried again with the next call, however soon.
   */
  unload(): Promise<void> {
    // One more would stand behind calls that load the model again, which nobody wants to leave then.
    this.#leaving ??= this.#leave().finally(() => {
      this.#leaving = undefined;
    });
    return this.#leaving;
  }

  async #leave(): Promise<void> {
    const place = this.#line.join();
    try {
      await place.turn;
      const starting = this.#starting;
      const thread = await starting?.catch(() => undefined);
      if (this.#closed || !starting) return;
      await thread?.close();
      // Nobody loads it anew while it leaves: two would be in memory.
      if (this.#starting !== starting) return;
      this.#thread = undefined;
      this.#starting = undefined;
      this.#options.onState({ name: "idle" });
    } finally {
      place.leave();
    }
  }

  #loaded(): Promise<PipelineThread> {
    if (this.#closed) return Promise.reject(closing());
    if (performance.now() - this.#failedAt >= retryMs) this.#starting = undefined;
    this.#starting ??= this.#start();
    return this.#starting;
  }

  async #start(): Promise<PipelineThread> {
    const { admit, check, watch, progress, onState } = this.#options;
    this.#failedAt = Number.POSITIVE_INFINITY;
    try {
      onState({ name: "loading" });
      check();
      await admit();
      const { thread, where } = await watch(async () => {
        if (this.#closed) throw closing();
        const begun = new PipelineThread(this.#settings, admit, progress);
        this.#thread = begun;
        return { thread: begun, where: await begun.loaded };
      });
      if (this.#closed) throw closing();
      onState({ name: "ready", where });
      thread.gone.then(() => {
        if (this.#closed || this.#thread !== thread) return;
        this.#thread = undefined;
        this.#starting = undefined;
        onState({ name: "idle" });
      });
      return thread;
    } catch (thrown) {
      if (this.#closed) throw closing();
      this.#failedAt = performance.now();
      const error = thrown as Error;
      const told = error instanceof PipelineFailure || error instanceof LintelError;
      const detail = told ? error.message : "the model can't be loaded";
      const failure = new LintelError("model_not_loaded", detail, { cause: error });
      // Of a fault that nobody foresaw the log needs the stack.
      onState({ name: "failed", detail, error: told ? failure : error });
      throw failure;
    }
  }

  /**
   * Makes images. Ends with the last; a step carries all that happened since
   * the step before.
   * @param signal stops the job: while it waits at once, while it runs at the next step
   * @param begun whether images of the same request are made already: it waits however many do
   * @throws the signal's reason; LintelError `overloaded` if too many wait or there is no room for its LoRAs now, `model_not_loaded`
   *   if the model can't be loaded, `invalid_value` if the model can't do what the job
   *   wants, `upstream_failed` if the job fails, `shutting_down` once the engine closes
   */
  async *run(
    job: ImageJob,
    signal: CallSignal,
    begun = false,
  ): AsyncGenerator<readonly EngineEvent[]> {
    signal.throwIfAborted();
    if (this.#closed) throw closing();
    if (!begun && this.#line.length > this.#options.queue) throw this.#full();
    const running = new RunningJob(job, this.#line);
    const stop = () => running.stop();
    signal.addEventListener("abort", stop, { once: true });
    this.#running.add(running);
    const done = (ms: number) => this.#note(ms);
    void running
      .work(() => this.#loaded(), done)
      .finally(() => {
        this.#running.delete(running);
        signal.removeEventListener("abort", stop);
      });
    yield* running.events(() => (signal.aborted ? signal.reason : closing()));
  }

  #note(took: number): void {
    this.#usual = this.#usual === 0 ? took : 0.7 * this.#usual + 0.3 * took;
  }

  #full(): LintelError {
    const waiting = this.#line.length - 1;
    const seconds = Math.ceil(this.#usual / 1000);
    return new LintelError("overloaded", `the model is busy, and ${waiting} requests wait for it`, {
      retryAfter: Math.min(Math.max(seconds, 1), 600),
    });
  }

  /** Stops everything after the step that runs now; resolves when the thread is gone. */
  async close(): Promise<void> {
    this.#closed = true;
    for (const job of this.#running) job.stop();
    await this.#thread?.close();
    // Who reckons with its memory may know it for longer than its backend lasts.
    this.#options.onState({ name: "idle" });
  }
}
