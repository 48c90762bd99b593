/**
 * How long an image model takes on a GPU, and on the CPU beside it, through a whole gateway:
 *   npx tsx bench/gpu-image.ts FOLDER [--gpu cuda,vulkan,cpu] [--steps 20] [--size 512] [--rounds 3]
 * A folder of random weights does: bench/random_diffusion.py makes one. The first picture of
 * each, which compiles what the GPU runs, does not count.
 */
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { availableParallelism, cpus, tmpdir } from "node:os";
import { basename, join, resolve } from "node:path";
import { parseArgs } from "node:util";
import { startGateway } from "../test/faults/processes.js";
import { draw } from "./draw.js";
import { median } from "./targets.js";

const { values, positionals } = parseArgs({
  allowPositionals: true,
  options: {
    gpu: { type: "string", default: "cuda,vulkan,cpu" },
    steps: { type: "string", default: "20" },
    size: { type: "string", default: "512" },
    rounds: { type: "string", default: "3" },
  },
});
const folder = positionals[0];
if (!folder) throw new Error("which folder?");
const side = Number(values.size);
const steps = Number(values.steps);

console.log(
  `${basename(folder)}, ${side}x${side}, ${steps} steps, ${availableParallelism()} cores of ${cpus()[0]?.model}`,
);
for (const kind of values.gpu.split(",")) {
  const state = mkdtempSync(join(tmpdir(), "lintel-bench-"));
  const config = join(state, "lintel.yaml");
  const backend = {
    type: "onnx",
    name: "images",
    path: resolve(folder),
    gpu: kind === "cpu" ? false : kind,
  };
  // YAML takes JSON.
  writeFileSync(
    config,
    JSON.stringify({
      log: { level: "error" },
      state: { directory: state },
      backends: [backend],
    }),
  );
  const gateway = await startGateway(config, [], "dist/src/main.js", "inherit");
  try {
    const request = { prompt: "a circle", width: side, height: side, num_inference_steps: steps };
    await draw(gateway.url, { ...request, num_inference_steps: 2 });
    const seconds: number[] = [];
    for (let round = 0; round < Number(values.rounds); round++) {
      const drawn = await draw(gateway.url, request);
      if (drawn.steps !== steps) throw new Error(`${drawn.steps} steps ran`);
      seconds.push(drawn.seconds);
    }
    const range = `${Math.min(...seconds).toFixed(2)} to ${Math.max(...seconds).toFixed(2)}`;
    console.log(`${kind}: ${median(seconds).toFixed(2)} s (${range})`);
  } catch (error) {
    console.log(`${kind}: ${error}`);
  } finally {
    await gateway.stop();
    rmSync(state, { recursive: true, force: true });
  }
}
