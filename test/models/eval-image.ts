/**
 * The figures of the embedded image model, of pictures that a whole gateway
 * draws: held-out prompts, sizes, places, several things, gradients, its LoRA.
 * Fails if fewer than 90 of 100 held-out prompts come out in the asked colours.
 * Needs a Python with numpy and Pillow, as in models/image/requirements.txt:
 * LINTEL_IMAGE_PYTHON, or python3. More options are evaluate.py's.
 */
import { spawn, spawnSync } from "node:child_process";
import { once } from "node:events";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { startGateway } from "../faults/processes.js";

const root = join(import.meta.dirname, "../..");
const python = process.env.LINTEL_IMAGE_PYTHON ?? "python3";
const needed = "numpy and Pillow, as in models/image/requirements.txt";

if (spawnSync(python, ["-c", "import numpy, PIL"]).status !== 0) {
  console.error(
    `pictures can't be judged: point LINTEL_IMAGE_PYTHON to a Python that has ${needed}`,
  );
  process.exit(1);
}

const state = mkdtempSync(join(tmpdir(), "lintel-eval-"));
const config = join(state, "lintel.yaml");
writeFileSync(config, `log: { level: error }\nstate: { directory: ${state} }\n`);
const gateway = await startGateway(config, [], "dist/src/main.js", "inherit");
try {
  const script = join(root, "models/image/evaluate.py");
  const judge = spawn(
    python,
    [
      "-B",
      script,
      "--server",
      gateway.url,
      "--least",
      "90",
      "--lora",
      "pastel",
      ...process.argv.slice(2),
    ],
    { stdio: "inherit" },
  );
  const [code] = await once(judge, "exit");
  process.exitCode = code ?? 1;
} finally {
  await gateway.stop();
  rmSync(state, { recursive: true, force: true });
}
