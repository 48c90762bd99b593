/**
 * Schedulers that count in amounts of noise: `sigma` is how much noise there is
 * for one part of signal, and the timestep follows from it.
 */
import { type NoiseSchedule, toEven } from "./schedule.js";

/** What each run of the model is about. */
export interface Sigmas {
  readonly timesteps: readonly number[];
  /** One more than timesteps: the last is where the run ends. */
  readonly sigmas: readonly number[];
}

/** The sigma of each training step, least first. */
export function trainingSigmas(schedule: NoiseSchedule): number[] {
  const { alphas, rescale_betas_zero_snr } = schedule;
  return Array.from(alphas, (alpha, i) => {
    // Without any signal sigma would be infinite; diffusers leaves this much.
    const left = rescale_betas_zero_snr && i === alphas.length - 1 ? 2 ** -24 : alpha;
    return Math.sqrt((1 - left) / left);
  });
}

/** The sigma that a run ends with. */
export function finalSigma(schedule: NoiseSchedule, training: readonly number[]): number {
  return schedule.final_sigmas_type === "zero" ? 0 : (training[0] as number);
}

/** The timesteps of a run as Euler's schedulers space them: not rounded. */
export function eulerTimesteps(schedule: NoiseSchedule, steps: number): number[] {
  const n = schedule.num_train_timesteps;
  const runs = Array.from({ length: steps }, (_, i) => i);
  switch (schedule.timestep_spacing) {
    case "linspace":
      return runs.map((i) => (steps === 1 ? 0 : ((n - 1) / (steps - 1)) * i)).reverse();
    case "leading":
      return runs.map((i) => i * Math.floor(n / steps) + schedule.steps_offset).reverse();
    case "trailing":
      return runs.map((i) => Math.max(toEven(n - i * (n / steps)) - 1, 0));
  }
}

/** The value of `values` at a position between its indices. */
export function between(values: readonly number[], at: number): number {
  const low = Math.min(Math.max(Math.floor(at), 0), values.length - 1);
  const high = Math.min(low + 1, values.length - 1);
  const share = Math.min(Math.max(at - low, 0), 1);
  return (1 - share) * (values[low] as number) + share * (values[high] as number);
}

/** Where among the training steps a sigma lies, counted with fractions on a scale of logarithms. */
export function timestepOf(sigma: number, training: readonly number[]): number {
  const log = Math.log(Math.max(sigma, 1e-10));
  let low = 0;
  while (low < training.length - 2 && Math.log(training[low + 1] as number) <= log) low++;
  const [a, b] = [Math.log(training[low] as number), Math.log(training[low + 1] as number)];
  return low + Math.min(Math.max((a - log) / (a - b), 0), 1);
}

/** Evenly spaced numbers, both ends included. */
export function linspace(from: number, to: number, count: number): number[] {
  return Array.from({ length: count }, (_, i) =>
    count === 1 ? from : from + ((to - from) * i) / (count - 1),
  );
}

/** The largest and the least sigma of a run, as the file or else the run itself has them. */
function ends(schedule: NoiseSchedule, sigmas: readonly number[]): [number, number] {
  const { sigma_max, sigma_min } = schedule;
  return [sigma_max ?? (sigmas[0] as number), sigma_min ?? (sigmas.at(-1) as number)];
}

/** Spaced as Karras et al. do ("Elucidating the design space…", 2022, rho 7), largest first. */
export function karras(schedule: NoiseSchedule, sigmas: readonly number[], count: number) {
  const [most, least] = ends(schedule, sigmas);
  return linspace(most ** (1 / 7), least ** (1 / 7), count).map((root) => root ** 7);
}

/** Spaced evenly by their logarithms, largest first. */
export function exponential(schedule: NoiseSchedule, sigmas: readonly number[], count: number) {
  const [most, least] = ends(schedule, sigmas);
  return linspace(Math.log(most), Math.log(least), count).map((log) => Math.exp(log));
}
