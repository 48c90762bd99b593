/** Latent consistency models (Luo et al., 2023): few steps, with fresh noise between them. */
import { JobProblem } from "../problem.js";
import { readings } from "./prediction.js";
import type { NoiseSchedule } from "./schedule.js";
import type { Scheduler } from "./scheduler.js";

/** diffusers' `LCMScheduler`. */
export const lcm: Scheduler = {
  defaults: {
    beta_start: 0.00085,
    beta_end: 0.012,
    beta_schedule: "scaled_linear",
    clip_sample: false,
  },
  start(schedule, steps) {
    const timesteps = timestepsOf(schedule, steps);
    const limit = schedule.clip_sample ? schedule.clip_sample_range : Number.POSITIVE_INFINITY;
    const reading = (step: number) =>
      readings(schedule.prediction_type, schedule.alphas[timesteps[step] as number] as number);
    let drawn: Float32Array | undefined;
    return {
      timesteps,
      initialSigma: 1,
      reading,
      scale: (latents, _step, input) => input.set(latents),
      advance(output, step, latents, noise) {
        const { cleanOfSample, cleanOfOutput } = reading(step);
        const { skip, out } = boundary((timesteps[step] as number) * schedule.timestep_scaling);
        const next = timesteps[step + 1];
        const alpha = next === undefined ? 1 : (schedule.alphas[next] as number);
        const [signal, amount] = [Math.sqrt(alpha), Math.sqrt(1 - alpha)];
        if (next !== undefined) {
          drawn ??= new Float32Array(latents.length);
          noise(drawn);
        }
        for (let i = 0; i < latents.length; i++) {
          const x = latents[i] as number;
          const clean = cleanOfSample * x + cleanOfOutput * (output[i] as number);
          const clipped = Math.min(Math.max(clean, -limit), limit);
          latents[i] = signal * (out * clipped + skip * x) + amount * (drawn?.[i] ?? 0);
        }
      },
    };
  },
};

/** How much of the sample itself a consistency model keeps; nearly nothing but at the very end. */
function boundary(time: number) {
  const data = 0.5;
  return { skip: data ** 2 / (time ** 2 + data ** 2), out: time / Math.hypot(time, data) };
}

/** The steps that the model was distilled on, and of these the ones to visit. */
function timestepsOf(schedule: NoiseSchedule, steps: number): number[] {
  const taught = schedule.original_inference_steps;
  if (steps > taught) {
    throw new JobProblem("num_inference_steps", `must be at most ${taught} for this model`);
  }
  const gap = Math.floor(schedule.num_train_timesteps / taught);
  return Array.from(
    { length: steps },
    (_, i) => (taught - Math.floor((i * taught) / steps)) * gap - 1,
  );
}
