/** diffusers' `scheduler_config.json`: which noise a model was trained with. */
import * as z from "zod";
import { isObject } from "../../../core/json.js";
import { checked } from "../json-file.js";

const count = z.int().min(1).max(1_000_000);

/** A switch that old files leave out and some write as null. */
const off = z
  .boolean()
  .nullish()
  .transform((value) => value ?? false);

const unsupported = (what: string) =>
  z
    .literal(false, { error: `${what} are not supported` })
    .nullish()
    .transform(() => false as const);

/** The fields that are read. What a file leaves out has the default of its class. */
const schema = z.object({
  _class_name: z.string(),
  num_train_timesteps: count.default(1000),
  beta_start: z.number().default(0.0001),
  beta_end: z.number().default(0.02),
  beta_schedule: z.enum(["linear", "scaled_linear", "squaredcos_cap_v2"]).default("linear"),
  trained_betas: z.array(z.number()).min(1).nullish(),
  clip_sample: z.boolean().default(true),
  clip_sample_range: z.number().positive().default(1),
  set_alpha_to_one: z.boolean().default(true),
  steps_offset: z.int().default(0),
  prediction_type: z.enum(["epsilon", "v_prediction", "sample"]).default("epsilon"),
  thresholding: z.literal(false, { error: "dynamic thresholding is not supported" }).default(false),
  timestep_spacing: z.enum(["leading", "trailing", "linspace"]).default("leading"),
  rescale_betas_zero_snr: z.boolean().default(false),
  // Schedulers that count in amounts of noise.
  interpolation_type: z.enum(["linear", "log_linear"]).default("linear"),
  use_karras_sigmas: off,
  use_exponential_sigmas: off,
  use_lu_lambdas: off,
  use_beta_sigmas: unsupported("beta sigmas"),
  use_flow_sigmas: unsupported("flow sigmas"),
  sigma_min: z.number().positive().nullish(),
  sigma_max: z.number().positive().nullish(),
  final_sigmas_type: z.enum(["zero", "sigma_min"]).default("zero"),
  timestep_type: z.literal("discrete", { error: "only discrete is supported" }).default("discrete"),
  // PNDM.
  skip_prk_steps: z.boolean().default(false),
  // DPM-Solver++.
  solver_order: z.int().min(1).max(3).default(2),
  algorithm_type: z.enum(["dpmsolver++", "sde-dpmsolver++"]).default("dpmsolver++"),
  solver_type: z.enum(["midpoint", "heun"]).default("midpoint"),
  lower_order_final: z.boolean().default(true),
  euler_at_final: z.boolean().default(false),
  lambda_min_clipped: z
    // Infinity has no form in JSON; diffusers writes the word.
    .union([z.number(), z.literal("-Infinity").transform(() => Number.NEGATIVE_INFINITY)])
    .nullish()
    .transform((value) => value ?? Number.NEGATIVE_INFINITY),
  // LCM.
  original_inference_steps: count.default(50),
  timestep_scaling: z.number().positive().default(10),
});

/** The class of diffusers that a file is for. @throws ModelProblem if it says none */
export const className = (json: unknown, file: string): string =>
  checked(file, schema.pick({ _class_name: true }), json)._class_name;

/** What a file may leave out, in the form of the file. */
export type ConfigDefaults = Readonly<Partial<z.input<typeof schema>>>;

/** The file, checked. Names are diffusers'. */
export type SchedulerConfig = z.output<typeof schema>;

/** A configuration, and the amounts of signal that follow from it. */
export interface NoiseSchedule extends SchedulerConfig {
  /** Share of the signal's variance that is left at each training step (`alphas_cumprod`). */
  readonly alphas: Float64Array;
}

/**
 * Reads a scheduler's configuration.
 * @param defaults of its class, for what the file leaves out
 * @throws ModelProblem that names the file and every field at fault
 */
export function noiseSchedule(
  json: unknown,
  file: string,
  defaults: ConfigDefaults = {},
): NoiseSchedule {
  const filled = isObject(json) ? { ...defaults, ...json } : json;
  const data = checked(file, schema, filled);
  const betas = betasOf(data);
  const alphas = new Float64Array(betas.length);
  let product = 1;
  betas.forEach((beta, i) => {
    product *= 1 - beta;
    alphas[i] = product;
  });
  if (data.rescale_betas_zero_snr) rescale(alphas);
  return { ...data, num_train_timesteps: alphas.length, alphas };
}

function betasOf(config: SchedulerConfig): readonly number[] {
  const { num_train_timesteps: n, beta_start, beta_end } = config;
  if (config.trained_betas) return config.trained_betas;
  const steps = Array.from({ length: n }, (_, i) => i);
  const between = (a: number, b: number, i: number) => (n === 1 ? a : a + ((b - a) * i) / (n - 1));
  switch (config.beta_schedule) {
    case "linear":
      return steps.map((i) => between(beta_start, beta_end, i));
    case "scaled_linear":
      return steps.map((i) => between(Math.sqrt(beta_start), Math.sqrt(beta_end), i) ** 2);
    case "squaredcos_cap_v2": {
      const left = (t: number) => Math.cos((((t + 0.008) / 1.008) * Math.PI) / 2) ** 2;
      return steps.map((i) => Math.min(1 - left((i + 1) / n) / left(i / n), 0.999));
    }
  }
}

/**
 * Shifts and scales so that the last step has no signal at all and the first
 * keeps its value (Lin et al., "Common diffusion noise schedules and sample
 * steps are flawed", 2024, algorithm 1).
 */
function rescale(alphas: Float64Array): void {
  const first = Math.sqrt(alphas[0] as number);
  const last = Math.sqrt(alphas.at(-1) as number);
  for (let i = 0; i < alphas.length; i++) {
    alphas[i] = (((Math.sqrt(alphas[i] as number) - last) * first) / (first - last)) ** 2;
  }
}

/**
 * The training steps that a run visits, from the noisiest on, as diffusers
 * spaces them.
 */
export function timestepsOf(schedule: NoiseSchedule, steps: number): number[] {
  const n = schedule.num_train_timesteps;
  const runs = Array.from({ length: steps }, (_, i) => i);
  switch (schedule.timestep_spacing) {
    case "linspace":
      return runs.map((i) => toEven(steps === 1 ? 0 : ((n - 1) / (steps - 1)) * i)).reverse();
    case "leading": {
      const gap = Math.floor(n / steps);
      return runs.map((i) => Math.min(i * gap + schedule.steps_offset, n - 1)).reverse();
    }
    case "trailing":
      return runs.map((i) => Math.max(toEven(n - i * (n / steps)) - 1, 0));
  }
}

/** Rounds halves to the even neighbour, as numpy does. */
export function toEven(value: number): number {
  const floor = Math.floor(value);
  const rest = value - floor;
  return rest > 0.5 || (rest === 0.5 && floor % 2 === 1) ? floor + 1 : floor;
}
