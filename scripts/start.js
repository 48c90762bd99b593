/**
 * `npm start`: builds what is stale and serves, in one process, because each
 * further one delays the first answer.
 */
import { buildIfStale } from "./build.js";

process.exitCode = await buildIfStale();
if (process.exitCode === 0) {
  const { run } = await import("../dist/src/cli/run.js");
  process.exitCode = await run(["serve", ...process.argv.slice(2)]);
}
