/** DDIM without added noise (Song et al., "Denoising diffusion implicit models", 2021; eta 0). */
import { readings } from "./prediction.js";
import { timestepsOf } from "./schedule.js";
import type { Scheduler } from "./scheduler.js";

/** diffusers' `DDIMScheduler`. */
export const ddim: Scheduler = {
  defaults: {},
  start(schedule, steps) {
    const timesteps = timestepsOf(schedule, steps);
    const gap = Math.floor(schedule.num_train_timesteps / steps);
    const limit = schedule.clip_sample ? schedule.clip_sample_range : Number.POSITIVE_INFINITY;
    const final = schedule.set_alpha_to_one ? 1 : (schedule.alphas[0] as number);
    const alphaAt = (step: number) => schedule.alphas[timesteps[step] as number] as number;
    const reading = (step: number) => readings(schedule.prediction_type, alphaAt(step));
    return {
      timesteps,
      initialSigma: 1,
      reading,
      scale: (latents, _step, input) => input.set(latents),
      advance(output, step, latents) {
        const before = (timesteps[step] as number) - gap;
        const alpha = before >= 0 ? (schedule.alphas[before] as number) : final;
        const [signal, noise] = [Math.sqrt(alpha), Math.sqrt(1 - alpha)];
        const { cleanOfSample, cleanOfOutput, noiseOfSample, noiseOfOutput } = reading(step);
        for (let i = 0; i < latents.length; i++) {
          const x = latents[i] as number;
          const y = output[i] as number;
          const clean = cleanOfSample * x + cleanOfOutput * y;
          const clipped = Math.min(Math.max(clean, -limit), limit);
          latents[i] = signal * clipped + noise * (noiseOfSample * x + noiseOfOutput * y);
        }
      },
    };
  },
};
