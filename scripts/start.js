/**
 * `npm start`: builds what is stale and serves, in one process, because each
 * further one delays the first answer.
 */
import module from "node:module";
import { buildIfStale } from "./build.js";

// A sooner start; Node 20 does not have it.
module.enableCompileCache?.();

/** How often the shell that npm started us in is looked for, milliseconds. */
const watchInterval = 250;

process.exitCode = await buildIfStale();
if (process.exitCode === 0) {
  leaveWithParent();
  const { run } = await import("../dist/src/cli/run.js");
  process.exitCode = await run(["serve", ...process.argv.slice(2)]);
}

/** On SIGTERM npm ends its shell, which does not hand the signal on: we would stay behind. */
function leaveWithParent() {
  const parent = process.ppid;
  const timer = setInterval(() => {
    if (process.ppid === parent) return;
    clearInterval(timer);
    process.kill(process.pid, "SIGTERM");
  }, watchInterval);
  timer.unref();
}
