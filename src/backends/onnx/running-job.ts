/** A job on its way: waits for its turn, runs, and tells what happens to whoever reads. */
import { invalidValue, LintelError } from "../../core/errors.js";
import type { Line, Place } from "./line.js";
import type { ImageEvent, ImageJob } from "./protocol.js";
import { PipelineFailure, type PipelineThread } from "./thread.js";

/** An event of a job, or that it waits: `position` jobs are in front of it. */
export type EngineEvent = ImageEvent | { readonly type: "queued"; readonly position: number };

/** One job, read by its caller event by event. */
export class RunningJob {
  readonly #job: ImageJob;
  readonly #place: Place;
  /** What happened since somebody read. */
  #events: EngineEvent[] = [];
  #state: "runs" | "stopped" | "over" = "runs";
  #thread: PipelineThread | undefined;
  #failure: unknown;
  #wake: () => void = () => {};

  /** Joins the line. */
  constructor(job: ImageJob, line: Line) {
    this.#job = job;
    this.#place = line.join((position) => this.#tell({ type: "queued", position }));
  }

  /**
   * Runs the job when its turn has come. Resolves, however it ended, when the thread is
   * free: then the next one's turn comes, whether or not anyone still reads here.
   * @param load gives the thread
   * @param done called after a run with how long it took, milliseconds
   */
  async work(load: () => Promise<PipelineThread>, done: (ms: number) => void): Promise<void> {
    try {
      await this.#place.turn;
      const thread = await load();
      if (this.#isStopped()) return;
      this.#thread = thread;
      const from = performance.now();
      await thread.run(this.#job, (event) => this.#tell(event));
      done(performance.now() - from);
    } catch (error) {
      this.#failure = error;
    } finally {
      this.#thread = undefined;
      if (this.#state === "runs") this.#state = "over";
      this.#place.leave();
      this.#wake();
    }
  }

  /**
   * What happens, until the job is over; a step carries all since the step before.
   * Whoever stops reading stops the job.
   * @param reason why it was stopped
   * @throws the reason; LintelError `invalid_value` if the model can't do what the job
   *   wants, `overloaded` if it can't now, `upstream_failed` if it fails; what `load` threw
   */
  async *events(reason: () => unknown): AsyncGenerator<readonly EngineEvent[]> {
    try {
      while (this.#state !== "over" || this.#events.length > 0) {
        if (this.#isStopped()) throw reason();
        const batch = this.#events;
        this.#events = [];
        if (batch.length > 0) yield batch;
        else {
          await new Promise<void>((resolve) => {
            this.#wake = resolve;
          });
        }
      }
    } finally {
      this.stop();
    }
    if (this.#failure !== undefined) throw asLintelError(this.#failure);
  }

  /** Ends the job: while it waits, also for the model, at once, while it runs at the next step. */
  stop(): void {
    this.#state = "stopped";
    // The thread is free after the step that runs now, and not before.
    if (this.#thread) this.#thread.abort();
    else this.#place.leave();
    this.#wake();
  }

  // A method, since it changes while the job waits.
  #isStopped(): boolean {
    return this.#state === "stopped";
  }

  #tell(event: EngineEvent): void {
    this.#events.push(event);
    this.#wake();
  }
}

function asLintelError(failure: unknown): unknown {
  if (!(failure instanceof PipelineFailure)) return failure;
  if (failure.passing) return new LintelError("overloaded", failure.message, { cause: failure });
  if (failure.param) return invalidValue(failure.param, failure.message);
  return new LintelError("upstream_failed", failure.message, { cause: failure });
}
