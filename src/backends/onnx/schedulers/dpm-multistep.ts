/** DPM-Solver++ in its multistep form (Lu et al., 2022), as ODE and as SDE: "DPM++ 2M". */
import type { Noise } from "../noise.js";
import { readings } from "./prediction.js";
import { type NoiseSchedule, toEven } from "./schedule.js";
import type { Scheduler } from "./scheduler.js";
import {
  between,
  exponential,
  finalSigma,
  karras,
  type Sigmas,
  timestepOf,
  trainingSigmas,
} from "./sigmas.js";

/** diffusers' `DPMSolverMultistepScheduler`. */
export const dpmMultistep: Scheduler = {
  defaults: { timestep_spacing: "linspace" },
  start(schedule, steps) {
    const { timesteps, sigmas } = sigmasOf(schedule, steps);
    const reading = (step: number) =>
      readings(schedule.prediction_type, 1 / ((sigmas[step] as number) ** 2 + 1));
    const stochastic = schedule.algorithm_type === "sde-dpmsolver++";
    /** The pictures as imagined at the latest steps, latest first. */
    const clean: Float32Array[] = [];
    let drawn: Float32Array | undefined;
    return {
      timesteps,
      initialSigma: 1,
      reading,
      scale: (latents, _step, input) => input.set(latents),
      advance(output, step, latents, noise: Noise) {
        const { cleanOfSample, cleanOfOutput } = reading(step);
        clean.unshift(
          latents.map((x, i) => cleanOfSample * x + cleanOfOutput * (output[i] as number)),
        );
        clean.length = Math.min(clean.length, schedule.solver_order);
        if (stochastic) {
          drawn ??= new Float32Array(latents.length);
          noise(drawn);
        }
        const order = Math.min(clean.length, orderAt(schedule, step, timesteps.length));
        const w = weightsOf(schedule, order, sigmas, step);
        const [m0, m1, m2] = clean as [Float32Array, Float32Array?, Float32Array?];
        for (let i = 0; i < latents.length; i++) {
          latents[i] =
            w.sample * (latents[i] as number) +
            w.clean[0] * (m0[i] as number) +
            w.clean[1] * (m1?.[i] ?? 0) +
            w.clean[2] * (m2?.[i] ?? 0) +
            w.noise * (drawn?.[i] ?? 0);
        }
      },
    };
  },
};

/** Of how many earlier pictures a step may make use; few steps end with low orders. */
function orderAt(schedule: NoiseSchedule, step: number, steps: number): number {
  const few = schedule.lower_order_final && steps < 15;
  const certain = schedule.euler_at_final || few || schedule.final_sigmas_type === "zero";
  if (step === steps - 1 && certain) return 1;
  if (step === steps - 2 && few) return Math.min(2, schedule.solver_order);
  return schedule.solver_order;
}

/** What the next latents are made of. */
interface Weights {
  readonly sample: number;
  /** Of the imagined pictures, latest first. */
  readonly clean: readonly [number, number, number];
  readonly noise: number;
}

/** Steps of less change nothing, and their weights are quotients of rounding errors. */
const leastStep = 1e-9;

/** One step of the solver, of an order, as weights. */
function weightsOf(
  schedule: NoiseSchedule,
  order: number,
  sigmas: readonly number[],
  step: number,
): Weights {
  const at = (i: number) => sigmas[i] as number;
  const from = scaled(at(step));
  const to = scaled(at(step + 1));
  const stochastic = schedule.algorithm_type === "sde-dpmsolver++";
  // To the very end there is no noise left, and the last picture is the result.
  if (to.sigma === 0) return { sample: 0, clean: [1, 0, 0], noise: 0 };
  const h = to.lambda - from.lambda;
  // Spaced anew, the least sigma is met once more at the end, but for its last digits.
  if (h < leastStep) return { sample: 1, clean: [0, 0, 0], noise: 0 };
  const s = stochastic ? 2 * h : h;
  const decay = Math.exp(-s);
  const shared = {
    sample: (to.sigma / from.sigma) * (stochastic ? Math.exp(-h) : 1),
    noise: stochastic ? to.sigma * Math.sqrt(1 - decay) : 0,
  };
  // Weights of the latest picture and of its first and second differences.
  const d0 = to.alpha * (1 - decay);
  if (order === 1) return { ...shared, clean: [d0, 0, 0] };
  const first = to.alpha * ((decay - 1) / s + 1);
  const r0 = (from.lambda - scaled(at(step - 1)).lambda) / h;
  if (order === 2) {
    const d1 = (schedule.solver_type === "midpoint" ? d0 / 2 : first) / r0;
    return { ...shared, clean: [d0 + d1, -d1, 0] };
  }
  const r1 = (scaled(at(step - 1)).lambda - scaled(at(step - 2)).lambda) / h;
  // The sign of the half is diffusers' own for the SDE.
  const second = to.alpha * ((1 - decay - s) / s ** 2 + (stochastic ? -0.5 : 0.5));
  const mixed = (first * r0 + second) / (r0 + r1);
  const [a, b] = [(first + mixed) / r0, -mixed / r1];
  return { ...shared, clean: [d0 + a, b - a, -b] };
}

/** A sigma as amounts of signal and noise of variance 1 together. */
function scaled(ratio: number) {
  const alpha = 1 / Math.hypot(ratio, 1);
  return { alpha, sigma: ratio * alpha, lambda: -Math.log(ratio) };
}

function sigmasOf(schedule: NoiseSchedule, steps: number): Sigmas {
  const training = trainingSigmas(schedule);
  const last = finalSigma(schedule, training);
  const downward = training.toReversed();
  const respaced = schedule.use_karras_sigmas
    ? karras
    : schedule.use_exponential_sigmas || schedule.use_lu_lambdas
      ? exponential
      : undefined;
  if (respaced) {
    const sigmas = respaced(schedule, downward, steps);
    const rounded =
      schedule.beta_schedule !== "squaredcos_cap_v2" && !schedule.use_exponential_sigmas;
    const timesteps = sigmas
      .map((sigma) => timestepOf(sigma, training))
      .map((t) =>
        // In diffusers' single precision the first falls just short of a whole step.
        rounded ? toEven(t) : Math.max(Math.floor(t - 1e-6), 0),
      );
    return { timesteps, sigmas: [...sigmas, last] };
  }
  const timesteps = timestepsOf(schedule, steps, training);
  return { timesteps, sigmas: [...timesteps.map((t) => between(training, t)), last] };
}

/** One step more than asked is spaced out, and the last, where nothing is left to do, left out. */
function timestepsOf(schedule: NoiseSchedule, steps: number, training: readonly number[]) {
  const n = schedule.num_train_timesteps;
  // Steps with next to no signal are left out, if the file says so.
  const clipped = training.filter((sigma) => -Math.log(sigma) < schedule.lambda_min_clipped).length;
  const end = n - clipped;
  const runs = Array.from({ length: steps }, (_, i) => i);
  switch (schedule.timestep_spacing) {
    case "linspace":
      return runs.map((i) => toEven(((end - 1) / steps) * (i + 1))).reverse();
    case "leading": {
      const gap = Math.floor(end / (steps + 1));
      return runs.map((i) => (i + 1) * gap + schedule.steps_offset).reverse();
    }
    case "trailing":
      return runs.map((i) => Math.max(toEven(end - i * (n / steps)) - 1, 0));
  }
}
