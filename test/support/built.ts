/** The build is of the sources that are tested: threads and processes that they start run it. */
import { execFileSync } from "node:child_process";
import { fileURLToPath } from "node:url";

const script = fileURLToPath(new URL("../../scripts/build.js", import.meta.url));

/** Builds what changed. */
export default function built(): void {
  execFileSync(process.execPath, [script, "--if-stale"], { stdio: "inherit" });
}
