/** What a scheduler is: how the noise leaves the latents, step by step. */
import type { Noise } from "../noise.js";
import type { Reading } from "./prediction.js";
import type { ConfigDefaults, NoiseSchedule } from "./schedule.js";

/**
 * One run of a scheduler. A scheduler that looks back at earlier steps keeps
 * them here, so that every image gets a run of its own.
 */
export interface SchedulerRun {
  /** What the model is told at each run of it. Some schedulers run it more often than they step. */
  readonly timesteps: readonly number[];
  /** What the first noise, of variance 1, is multiplied by. */
  readonly initialSigma: number;
  /** Writes what the model is to see at a step into `input`. */
  scale(latents: Float32Array, step: number, input: Float32Array): void;
  /**
   * Takes the latents one step on, in place.
   * @param output what the model said, after guidance; valid only during the call
   * @param noise for schedulers that add some
   */
  advance(output: Float32Array, step: number, latents: Float32Array, noise: Noise): void;
  /** How the picture as the model imagines it follows from what it saw and said at a step. */
  reading(step: number): Reading;
}

/** A scheduler: its file exports one, and `index.ts` names it by diffusers' class. */
export interface Scheduler {
  /** What the class assumes of fields that a file leaves out. */
  readonly defaults: ConfigDefaults;
  /**
   * Starts a run.
   * @throws JobProblem if the scheduler can't take so few or so many steps
   */
  start(schedule: NoiseSchedule, steps: number): SchedulerRun;
}
