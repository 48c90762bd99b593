/** What a scheduler is: how the noise leaves the latents, step by step. */
import type { Noise } from "../noise.js";
import type { NoiseSchedule } from "./schedule.js";

/**
 * One run of a scheduler. A scheduler that looks back at earlier steps keeps
 * them here, so that every image gets a run of its own.
 */
export interface SchedulerRun {
  /** What the model is told at each step; one entry a step. */
  readonly timesteps: readonly number[];
  /** What the first noise, of variance 1, is multiplied by. */
  readonly initialSigma: number;
  /** Writes what the model is to see at a step into `input`. */
  scale(latents: Float32Array, step: number, input: Float32Array): void;
  /**
   * Takes the latents one step on, in place.
   * @param output what the model said, after guidance
   * @param noise for schedulers that add some
   */
  advance(output: Float32Array, step: number, latents: Float32Array, noise: Noise): void;
}

/** A scheduler: its file exports one, and `index.ts` names it by diffusers' class. */
export type Scheduler = (schedule: NoiseSchedule, steps: number) => SchedulerRun;
