/** PNDM (Liu et al., "Pseudo numerical methods for diffusion models on manifolds", 2022). */
import { JobProblem } from "../problem.js";
import { readings } from "./prediction.js";
import { type NoiseSchedule, timestepsOf } from "./schedule.js";
import type { Scheduler } from "./scheduler.js";

/** Weights of the latest noises, latest first, of a linear multistep method by its order. */
const multistep = [
  [1],
  [3 / 2, -1 / 2],
  [23 / 12, -16 / 12, 5 / 12],
  [55 / 24, -59 / 24, 37 / 24, -9 / 24],
];

/** Runs of the model in each Runge-Kutta step, and how many such steps begin a run. */
const rungs = 4;
const runUp = 3;

/** diffusers' `PNDMScheduler`. */
export const pndm: Scheduler = {
  defaults: { set_alpha_to_one: false },
  start: (schedule, steps) =>
    schedule.skip_prk_steps ? plms(schedule, steps) : withRunUp(schedule, steps),
};

/** Without the run-up, as Stable Diffusion has it: the second noisiest step is taken twice. */
function plms(schedule: NoiseSchedule, steps: number) {
  const [first, ...rest] = timestepsOf(schedule, steps) as [number, ...number[]];
  const timesteps = rest.length > 0 ? [first, rest[0] as number, ...rest] : [first];
  const { alphaAt, step: move, gap } = mover(schedule, steps);
  const noises: Float32Array[] = [];
  let start: Float32Array | undefined;
  const reading = (step: number) =>
    readings(schedule.prediction_type, alphaAt(timesteps[step] as number));
  return {
    timesteps,
    initialSigma: 1,
    reading,
    scale: (latents: Float32Array, _step: number, input: Float32Array) => input.set(latents),
    advance(output: Float32Array, step: number, latents: Float32Array) {
      const t = timesteps[step] as number;
      if (step === 1) {
        // A correction of the first step: from where it began, with the mean of both noises.
        const first = noises[0] as Float32Array;
        latents.set(start as Float32Array);
        move(
          output.map((value, i) => (value + (first[i] as number)) / 2),
          t + gap,
          t,
          latents,
        );
        return;
      }
      if (step === 0) start = latents.slice();
      noises.unshift(output.slice());
      noises.length = Math.min(noises.length, multistep.length);
      move(weighted(noises), t, t - gap, latents);
    },
  };
}

/** With three Runge-Kutta steps first, each of four runs of the model. */
function withRunUp(schedule: NoiseSchedule, steps: number) {
  if (steps < multistep.length) {
    throw new JobProblem(
      "num_inference_steps",
      `must be at least ${multistep.length} for this model`,
    );
  }
  const visited = timestepsOf(schedule, steps);
  const { alphaAt, step: move, gap } = mover(schedule, steps);
  const half = Math.floor(gap / 2);
  const timesteps: number[] = [];
  for (const t of visited.slice(0, runUp)) {
    const next = visited[timesteps.length / rungs + 1] as number;
    timesteps.push(t, next + half, next + half, next);
  }
  timesteps.push(...visited.slice(runUp));
  const noises: Float32Array[] = [];
  let start = new Float32Array(0);
  let sum = new Float32Array(0);
  const reading = (step: number) =>
    readings(schedule.prediction_type, alphaAt(timesteps[step] as number));
  return {
    timesteps,
    initialSigma: 1,
    reading,
    scale: (latents: Float32Array, _step: number, input: Float32Array) => input.set(latents),
    advance(output: Float32Array, step: number, latents: Float32Array) {
      const t = timesteps[step] as number;
      if (step >= runUp * rungs) {
        noises.unshift(output.slice());
        noises.length = Math.min(noises.length, multistep.length);
        move(weighted(noises), t, t - gap, latents);
        return;
      }
      const rung = step % rungs;
      const from = timesteps[step - rung] as number;
      if (rung === 0) {
        start = latents.slice();
        sum = new Float32Array(latents.length);
        noises.unshift(output.slice());
      }
      const weight = rung === 0 || rung === 3 ? 1 / 6 : 1 / 3;
      for (let i = 0; i < sum.length; i++)
        sum[i] = (sum[i] as number) + weight * (output[i] as number);
      latents.set(start);
      // Halfway twice, then all the way, then all the way by the mean of all four.
      const to = rung % 2 === 0 ? t - half : t;
      move(rung === 3 ? sum : output, from, to, latents);
    },
  };
}

/** The sum of the noises by the weights of as many. */
function weighted(noises: readonly Float32Array[]): Float32Array {
  const weights = multistep[noises.length - 1] as number[];
  return (noises[0] as Float32Array).map((_, i) =>
    weights.reduce((sum, weight, k) => sum + weight * (noises[k]?.[i] as number), 0),
  );
}

/** Formula (9) of the paper: takes latents from one training step to another, in place. */
function mover(schedule: NoiseSchedule, steps: number) {
  const final = schedule.set_alpha_to_one ? 1 : (schedule.alphas[0] as number);
  const alphaAt = (t: number) =>
    t < 0 ? final : (schedule.alphas[Math.min(t, schedule.alphas.length - 1)] as number);
  return {
    alphaAt,
    gap: Math.floor(schedule.num_train_timesteps / steps),
    step(output: Float32Array, from: number, to: number, latents: Float32Array) {
      const [a, b] = [alphaAt(from), alphaAt(to)];
      const { noiseOfSample, noiseOfOutput } = readings(schedule.prediction_type, a);
      const keep = Math.sqrt(b / a);
      const take = (b - a) / (a * Math.sqrt(1 - b) + Math.sqrt(a * (1 - a) * b));
      for (let i = 0; i < latents.length; i++) {
        const x = latents[i] as number;
        const noise = noiseOfSample * x + noiseOfOutput * (output[i] as number);
        latents[i] = keep * x - take * noise;
      }
    },
  };
}
