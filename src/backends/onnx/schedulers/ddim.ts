/** DDIM without added noise (Song et al., "Denoising diffusion implicit models", 2021; eta 0). */
import { type NoiseSchedule, timestepsOf } from "./schedule.js";
import type { Scheduler } from "./scheduler.js";

/** diffusers' `DDIMScheduler`. */
export const ddim: Scheduler = (schedule, steps) => {
  const timesteps = timestepsOf(schedule, steps);
  const gap = Math.floor(schedule.num_train_timesteps / steps);
  const limit = schedule.clip_sample ? schedule.clip_sample_range : Number.POSITIVE_INFINITY;
  const final = schedule.set_alpha_to_one ? 1 : (schedule.alphas[0] as number);
  return {
    timesteps,
    initialSigma: 1,
    scale: (latents, _step, input) => input.set(latents),
    advance(output, step, latents) {
      const t = timesteps[step] as number;
      const alpha = schedule.alphas[t] as number;
      const before = t - gap >= 0 ? (schedule.alphas[t - gap] as number) : final;
      const [signal, noise] = [Math.sqrt(before), Math.sqrt(1 - before)];
      const { cleanOfSample, cleanOfOutput, noiseOfSample, noiseOfOutput } = readings(
        schedule.prediction_type,
        alpha,
      );
      for (let i = 0; i < latents.length; i++) {
        const x = latents[i] as number;
        const y = output[i] as number;
        const clean = cleanOfSample * x + cleanOfOutput * y;
        const clipped = Math.min(Math.max(clean, -limit), limit);
        latents[i] = signal * clipped + noise * (noiseOfSample * x + noiseOfOutput * y);
      }
    },
  };
};

/**
 * How the picture and the noise follow from sample and output: all three kinds
 * of prediction are linear in both.
 */
function readings(kind: NoiseSchedule["prediction_type"], alpha: number) {
  const a = Math.sqrt(alpha);
  const b = Math.sqrt(1 - alpha);
  switch (kind) {
    case "epsilon":
      return { cleanOfSample: 1 / a, cleanOfOutput: -b / a, noiseOfSample: 0, noiseOfOutput: 1 };
    case "sample":
      return { cleanOfSample: 0, cleanOfOutput: 1, noiseOfSample: 1 / b, noiseOfOutput: -a / b };
    case "v_prediction":
      return { cleanOfSample: a, cleanOfOutput: -b, noiseOfSample: b, noiseOfOutput: a };
  }
}
