/** Euler's method (algorithm 2 of Karras et al., 2022, without churn). */
import { readings } from "./prediction.js";
import type { NoiseSchedule } from "./schedule.js";
import type { Scheduler } from "./scheduler.js";
import {
  between,
  eulerTimesteps,
  exponential,
  finalSigma,
  karras,
  linspace,
  type Sigmas,
  timestepOf,
  trainingSigmas,
} from "./sigmas.js";

/** diffusers' `EulerDiscreteScheduler`. */
export const euler: Scheduler = {
  defaults: { timestep_spacing: "linspace" },
  start(schedule, steps) {
    const { timesteps, sigmas } = eulerSigmas(schedule, steps);
    const reading = (step: number) => readingAt(schedule, sigmas[step] as number);
    return {
      timesteps,
      initialSigma: initialSigma(schedule, sigmas),
      reading,
      scale: (latents, step, input) => toVariance1(latents, sigmas[step] as number, input),
      advance(output, step, latents) {
        stepTo(sigmas[step + 1] as number, sigmas[step] as number, reading(step), output, latents);
      },
    };
  },
};

/** What the first noise is multiplied by. */
export function initialSigma(schedule: NoiseSchedule, sigmas: readonly number[]): number {
  const most = Math.max(...sigmas);
  return schedule.timestep_spacing === "leading" ? Math.hypot(most, 1) : most;
}

/** How to read what a model says at a sigma. */
export const readingAt = (schedule: NoiseSchedule, sigma: number) =>
  readings(schedule.prediction_type, 1 / (sigma ** 2 + 1));

/** Latents that carry `sigma` of noise, as the model wants to see them. */
export function toVariance1(latents: Float32Array, sigma: number, input: Float32Array): void {
  const scale = 1 / Math.hypot(sigma, 1);
  for (let i = 0; i < latents.length; i++) input[i] = (latents[i] as number) * scale;
}

/** Takes latents with `from` of noise towards the picture until `to` is left, in place. */
export function stepTo(
  to: number,
  from: number,
  { cleanOfSample, cleanOfOutput }: ReturnType<typeof readings>,
  output: Float32Array,
  latents: Float32Array,
): void {
  const ofSample = cleanOfSample / Math.hypot(from, 1);
  for (let i = 0; i < latents.length; i++) {
    const x = latents[i] as number;
    const clean = ofSample * x + cleanOfOutput * (output[i] as number);
    latents[i] = x + ((x - clean) / from) * (to - from);
  }
}

function eulerSigmas(schedule: NoiseSchedule, steps: number): Sigmas {
  const training = trainingSigmas(schedule);
  let timesteps = eulerTimesteps(schedule, steps);
  let sigmas: number[];
  if (schedule.interpolation_type === "log_linear") {
    const [least, most] = [training[0] as number, training.at(-1) as number];
    sigmas = linspace(Math.log(most), Math.log(least), steps + 1).map((log) => Math.exp(log));
  } else {
    sigmas = timesteps.map((t) => between(training, t));
  }
  const respaced = schedule.use_karras_sigmas
    ? karras
    : schedule.use_exponential_sigmas
      ? exponential
      : undefined;
  if (respaced) {
    sigmas = respaced(schedule, sigmas, steps);
    timesteps = sigmas.map((sigma) => timestepOf(sigma, training));
  }
  return { timesteps, sigmas: [...sigmas, finalSigma(schedule, training)] };
}
