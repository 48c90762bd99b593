/** Until a process is warm: compilers work by what has run, not by what time has passed. */
import { cpuMicros } from "../cores.js";
import type { Stage } from "../scenarios/scenario.js";

/** Repeats a load until the process had as much CPU time as one measurement takes at most, or ten times as long has passed. */
export async function warm(
  pid: number,
  { seconds }: Pick<Stage, "seconds">,
  load: () => Promise<unknown>,
): Promise<void> {
  const until = performance.now() + 10_000 * seconds;
  const enough = cpuMicros(pid) + 1e6 * seconds;
  do await load();
  while (cpuMicros(pid) < enough && performance.now() < until);
}
