/** Euler's method that takes more noise away than it should, and adds fresh noise. */
import { initialSigma, readingAt, stepTo, toVariance1 } from "./euler.js";
import type { Scheduler } from "./scheduler.js";
import { between, eulerTimesteps, trainingSigmas } from "./sigmas.js";

/** diffusers' `EulerAncestralDiscreteScheduler`. */
export const eulerAncestral: Scheduler = {
  defaults: { timestep_spacing: "linspace" },
  start(schedule, steps) {
    const timesteps = eulerTimesteps(schedule, steps);
    const training = trainingSigmas(schedule);
    const sigmas = [...timesteps.map((t) => between(training, t)), 0];
    const reading = (step: number) => readingAt(schedule, sigmas[step] as number);
    let drawn: Float32Array | undefined;
    return {
      timesteps,
      initialSigma: initialSigma(schedule, sigmas),
      reading,
      scale: (latents, step, input) => toVariance1(latents, sigmas[step] as number, input),
      advance(output, step, latents, noise) {
        const [from, to] = [sigmas[step] as number, sigmas[step + 1] as number];
        const up = (to * Math.sqrt(from ** 2 - to ** 2)) / from;
        stepTo(Math.sqrt(to ** 2 - up ** 2), from, reading(step), output, latents);
        if (up === 0) return;
        drawn ??= new Float32Array(latents.length);
        noise(drawn);
        for (let i = 0; i < latents.length; i++) {
          latents[i] = (latents[i] as number) + up * (drawn[i] as number);
        }
      },
    };
  },
};
