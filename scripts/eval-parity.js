/**
 * Parity of the image engine with diffusers, from its source: has diffusers make
 * the expected numbers again, compares them with the ones that the tests use,
 * then runs those tests. Needs a Python with
 * test/backends/onnx/parity/requirements.txt: LINTEL_DIFFUSERS_PYTHON, or python3.
 */
import { spawnSync } from "node:child_process";
import { join } from "node:path";

const root = join(import.meta.dirname, "..");
const python = process.env.LINTEL_DIFFUSERS_PYTHON ?? "python3";
const parity = "test/backends/onnx/parity";

/** @returns whether it went well */
function run(command, ...args) {
  return spawnSync(command, args, { cwd: root, stdio: "inherit" }).status === 0;
}

const modules = "import diffusers, transformers, optimum.exporters.onnx, peft, onnx";
if (!run(python, "-c", modules)) {
  console.error(
    `diffusers can't be run: point LINTEL_DIFFUSERS_PYTHON to a Python that has ${parity}/requirements.txt`,
  );
  process.exit(1);
}
const same = run(python, "-B", `${parity}/make.py`, "--check");
const right = run("npx", "vitest", "run", "test/backends/onnx-parity.test.ts");
process.exit(same && right ? 0 : 1);
