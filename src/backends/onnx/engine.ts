/** One image model: loads it, runs its jobs one at a time, and stops what nobody wants any more. */
import { invalidValue, LintelError } from "../../core/errors.js";
import type { ImageEvent, ImageJob, ThreadSettings } from "./protocol.js";
import { PipelineFailure, PipelineThread } from "./thread.js";

/** State of the model, for the list of models. */
export type EngineState =
  | { readonly name: "loading" }
  | { readonly name: "ready" }
  | { readonly name: "failed"; readonly detail: string; readonly error: Error };

const closing = () => new LintelError("shutting_down", "the image engine is shutting down");

export class ImageEngine {
  readonly #settings: ThreadSettings;
  readonly #onState: (state: EngineState) => void;
  #thread: PipelineThread | undefined;
  /** Resolves when the jobs that were asked for so far are over. */
  #turn: Promise<void> = Promise.resolve();
  #closed = false;
  /** What ends the jobs that run or wait, when the engine closes. */
  readonly #stops = new Set<() => void>();

  /** @param onState told of each change; the engine begins as loading, though nothing loads yet */
  constructor(settings: ThreadSettings, onState: (state: EngineState) => void) {
    this.#settings = settings;
    this.#onState = onState;
  }

  /**
   * Loads the model, or waits until it is loaded. A model that can't be loaded
   * stays so; one whose thread died later is loaded anew.
   * @throws LintelError `unavailable` that says why it can't be loaded
   */
  async load(): Promise<void> {
    await this.#loadedThread();
  }

  async #loadedThread(): Promise<PipelineThread> {
    if (this.#closed) throw closing();
    this.#thread ??= this.#start();
    const thread = this.#thread;
    try {
      await thread.loaded;
    } catch (error) {
      if (this.#closed) throw closing();
      const detail = error instanceof PipelineFailure ? error.message : "the model can't be loaded";
      throw new LintelError("unavailable", detail, { cause: error });
    }
    return thread;
  }

  #start(): PipelineThread {
    const thread = new PipelineThread(this.#settings);
    this.#onState({ name: "loading" });
    thread.loaded.then(
      () => {
        if (this.#closed) return;
        this.#onState({ name: "ready" });
        thread.gone.then(() => {
          if (this.#closed) return;
          this.#thread = undefined;
          this.#onState({ name: "loading" });
        });
      },
      (error: Error) => {
        if (!this.#closed) this.#onState({ name: "failed", detail: error.message, error });
      },
    );
    return thread;
  }

  /**
   * Makes images. Ends with the last; a step carries all that happened since
   * the step before.
   * @param signal stops the job: while it waits at once, while it runs at the next step
   * @throws the signal's reason; LintelError `unavailable` if the model can't be loaded,
   *   `upstream_failed` if the job fails, `shutting_down` once the engine closes
   */
  async *run(job: ImageJob, signal: AbortSignal): AsyncGenerator<readonly ImageEvent[]> {
    signal.throwIfAborted();
    if (this.#closed) throw closing();
    let events: ImageEvent[] = [];
    let failure: unknown;
    let state: "runs" | "stopped" | "over" = "runs";
    const stopped = () => state === "stopped";
    const over = () => state === "over";
    let running: PipelineThread | undefined;
    let wake = () => {};
    const stop = () => {
      if (state === "over") return;
      state = "stopped";
      running?.abort();
      wake();
    };
    signal.addEventListener("abort", stop, { once: true });
    this.#stops.add(stop);

    const before = this.#turn;
    const work = async () => {
      await before;
      if (stopped()) return;
      const thread = await this.#loadedThread();
      if (stopped()) return;
      running = thread;
      await thread.run(job, (event) => {
        events.push(event);
        wake();
      });
    };
    // The next job's turn comes when the thread is free, whether or not anyone still reads here.
    this.#turn = work()
      .catch((error: unknown) => {
        failure = error;
      })
      .finally(() => {
        running = undefined;
        this.#stops.delete(stop);
        signal.removeEventListener("abort", stop);
        if (state === "runs") state = "over";
        wake();
      });

    try {
      while (!over() || events.length > 0) {
        if (stopped()) throw signal.aborted ? signal.reason : closing();
        const batch = events;
        events = [];
        if (batch.length > 0) yield batch;
        else {
          await new Promise<void>((resolve) => {
            wake = resolve;
          });
        }
      }
    } finally {
      stop();
    }
    if (failure instanceof PipelineFailure) {
      if (failure.param) throw invalidValue(failure.param, failure.message);
      throw new LintelError("upstream_failed", failure.message, { cause: failure });
    }
    if (failure !== undefined) throw failure;
  }

  /** Stops everything after the step that runs now; resolves when the thread is gone. */
  async close(): Promise<void> {
    this.#closed = true;
    for (const stop of this.#stops) stop();
    await this.#thread?.close();
  }
}
