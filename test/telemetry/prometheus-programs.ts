/** Prometheus and promtool, where `LINTEL_PROMETHEUS` names the folder that has both (`.ci/run` does). */
import { spawnSync } from "node:child_process";
import { join } from "node:path";

const folder = process.env.LINTEL_PROMETHEUS;

/** Whether they are not here, which is said. */
export const noPrometheus = !folder;
/** For names of tests that want them. */
export const why = folder ? "" : " (skipped: LINTEL_PROMETHEUS is not set)";
if (noPrometheus) {
  console.warn(
    "LINTEL_PROMETHEUS, a folder with prometheus and promtool, is not set: what needs it is not tested",
  );
}

/** Where a program is. */
export const program = (name: "prometheus" | "promtool"): string => join(folder ?? "", name);

if (folder) {
  for (const name of ["prometheus", "promtool"] as const) {
    const { status, error } = spawnSync(program(name), ["--version"]);
    if (status !== 0) throw new Error(`${program(name)} does not run`, { cause: error });
  }
}
