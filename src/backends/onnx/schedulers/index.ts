/** The schedulers, by the names of diffusers' classes. To add one: a file, and a line here. */
import { ModelProblem } from "../problem.js";
import { ddim } from "./ddim.js";
import { noiseSchedule } from "./schedule.js";
import type { SchedulerRun } from "./scheduler.js";

const schedulers = { DDIMScheduler: ddim };

/** Starts a run of so many steps. */
export type StartRun = (steps: number) => SchedulerRun;

/**
 * Makes the scheduler of a model.
 * @param json the content of its `scheduler_config.json`
 * @param file what to call that file in errors
 * @throws ModelProblem if the class is not known or a field is wrong
 */
export function schedulerOf(json: unknown, file: string): StartRun {
  const schedule = noiseSchedule(json, file);
  const name = schedule._class_name;
  if (!Object.hasOwn(schedulers, name)) {
    const known = Object.keys(schedulers).join(", ");
    throw new ModelProblem(`${file}: scheduler ${name} is not supported, only ${known}`);
  }
  const scheduler = schedulers[name as keyof typeof schedulers];
  return (steps) => {
    const most = schedule.num_train_timesteps;
    if (steps <= most) return scheduler(schedule, steps);
    throw new ModelProblem(`the model was trained with ${most} steps, it can't take ${steps}`);
  };
}
