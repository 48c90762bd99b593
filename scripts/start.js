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
  process.argv.splice(2, 0, "serve");
  await import("../dist/src/main.js");
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
