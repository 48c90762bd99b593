/** The schedulers, by the names of diffusers' classes. To add one: a file, and a line here. */
import { JobProblem, ModelProblem } from "../problem.js";
import { ddim } from "./ddim.js";
import { dpmMultistep } from "./dpm-multistep.js";
import { euler } from "./euler.js";
import { eulerAncestral } from "./euler-ancestral.js";
import { lcm } from "./lcm.js";
import { pndm } from "./pndm.js";
import { className, noiseSchedule } from "./schedule.js";
import type { Scheduler, SchedulerRun } from "./scheduler.js";

const schedulers: Readonly<Record<string, Scheduler>> = {
  DDIMScheduler: ddim,
  PNDMScheduler: pndm,
  EulerDiscreteScheduler: euler,
  EulerAncestralDiscreteScheduler: eulerAncestral,
  DPMSolverMultistepScheduler: dpmMultistep,
  LCMScheduler: lcm,
};

/** Starts a run of so many steps. */
export type StartRun = (steps: number) => SchedulerRun;

/**
 * Makes the scheduler of a model.
 * @param json the content of its `scheduler_config.json`
 * @param file what to call that file in errors
 * @throws ModelProblem if the class is not known or a field is wrong
 */
export function schedulerOf(json: unknown, file: string): StartRun {
  // First of all: another class has other settings, and other values of the same ones.
  const name = className(json, file);
  const scheduler = Object.hasOwn(schedulers, name) ? schedulers[name] : undefined;
  if (!scheduler) {
    const known = Object.keys(schedulers).join(", ");
    throw new ModelProblem(`${file}: scheduler ${name} is not supported, only ${known}`);
  }
  const schedule = noiseSchedule(json, file, scheduler.defaults);
  return (steps) => {
    const most = schedule.num_train_timesteps;
    if (steps <= most) return scheduler.start(schedule, steps);
    throw new JobProblem("num_inference_steps", `must be at most ${most} for this model`);
  };
}
