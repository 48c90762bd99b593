/**
 * Runs Lintel from the sources and restarts it when they change.
 * Arguments go to the command line: `npm run dev -- --listen 127.0.0.1:9000`.
 */
import { spawn } from "node:child_process";
import { watch } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";

const root = fileURLToPath(new URL("..", import.meta.url));
let server;
let timer;
let leaving = false;

/** Runs a script to its end; resolves with the exit code. */
function run(script, args, onStart) {
  return new Promise((resolve) => {
    const child = spawn(process.execPath, ["--enable-source-maps", join(root, script), ...args], {
      stdio: "inherit",
    });
    onStart?.(child);
    child.once("exit", (code) => resolve(code ?? 1));
  });
}

/** Builds; if that works, takes the old server down and starts the new one. */
async function restart() {
  // A process of its own: the build script itself may be what changed.
  if ((await run("scripts/build.js", ["--if-stale"])) !== 0) {
    console.error("dev: not restarted, the build failed");
    return;
  }
  if (server && server.exitCode === null && server.signalCode === null) {
    const gone = new Promise((resolve) => server.once("exit", resolve));
    server.kill("SIGTERM");
    // Streams that run would hold the port for their grace period.
    const impatient = setTimeout(() => server.kill("SIGKILL"), 2000);
    await gone;
    clearTimeout(impatient);
  }
  if (leaving) return;
  run("dist/src/main.js", ["serve", ...process.argv.slice(2)], (child) => {
    server = child;
  });
}

let pending = restart();
for (const folder of ["src", "gen"]) {
  watch(join(root, folder), { recursive: true }, () => {
    clearTimeout(timer);
    timer = setTimeout(() => {
      pending = pending.then(restart);
    }, 150);
  });
}
for (const signal of ["SIGINT", "SIGTERM"]) {
  process.once(signal, () => {
    leaving = true;
    if (!server || server.exitCode !== null) process.exit(0);
    server.once("exit", (code) => process.exit(code ?? 1));
    server.kill(signal);
  });
}
