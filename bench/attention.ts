/**
 * What attention as one node gains: time and memory of a step of a UNet with guidance, as its file has it
 * and as Lintel runs it. `npx tsx bench/attention.ts FOLDER [--size 512x512,1024x576] [--rounds 2] [--gpu cuda]`;
 * a folder of random weights does: bench/random_diffusion.py makes one. Each in a process of its own, whose
 * largest memory counts, the weights included.
 */
import { spawnSync } from "node:child_process";
import { availableParallelism, cpus } from "node:os";
import { basename } from "node:path";
import { fileURLToPath } from "node:url";
import { parseArgs } from "node:util";
import { gpuKinds } from "../src/backends/gpu.js";
import { fuseAttention } from "../src/backends/onnx/attention/fuse.js";
import { Device } from "../src/backends/onnx/device.js";
import { readOnnx } from "../src/backends/onnx/file/onnx.js";
import { rewriteOnnx } from "../src/backends/onnx/file/rewrite.js";
import { files } from "../src/backends/onnx/folder.js";
import { type Feeds, Graph } from "../src/backends/onnx/graph.js";
import { loadRuntime } from "../src/backends/onnx/runtime.js";
import { processTurns } from "../src/backends/onnx/turns.js";
import { signatures } from "../src/backends/onnx/weights.js";

const { values, positionals } = parseArgs({
  allowPositionals: true,
  options: {
    size: { type: "string", default: "512x512,1024x576" },
    rounds: { type: "string", default: "2" },
    gpu: { type: "string" },
    way: { type: "string" },
  },
});
const folder = positionals[0];
if (!folder) throw new Error("which folder?");
const ways = ["exported", "fused"] as const;

/** Runs one way, and prints seconds and GB. */
async function measure(folder: string, fused: boolean, size: string): Promise<void> {
  const [width = 0, height = 0] = size.split("x").map((pixels) => Number(pixels) / 8);
  const runtime = await loadRuntime();
  const gpu = gpuKinds.find((kind) => kind === values.gpu) ?? false;
  const device = await Device.open(runtime, gpu, processTurns);
  const execution = { runtime, device, threads: availableParallelism() };
  const file = readOnnx(folder, files.unet);
  const source = fused ? rewriteOnnx(file, { nodes: fuseAttention(file) }) : file.path;
  const unet = await Graph.open(execution, file, source, signatures.unet);
  const numbers = (...dims: number[]): Feeds[string] => {
    const length = dims.reduce((product, size) => product * size, 1);
    return [Float32Array.from({ length }, (_, i) => Math.sin(i)), dims];
  };
  const states = Number(unet.input("encoder_hidden_states").shape[2]);
  const feeds = {
    sample: numbers(2, 4, height, width),
    timestep: unet.input("timestep").shape.length > 0 ? numbers(1) : numbers(),
    encoder_hidden_states: numbers(2, 77, states),
  };
  const seconds: number[] = [];
  for (let round = 0; round < Number(values.rounds); round++) {
    const from = performance.now();
    await unet.run(feeds, "out_sample");
    seconds.push((performance.now() - from) / 1000);
  }
  const memory = process.resourceUsage().maxRSS / 1e6;
  console.log(`${Math.min(...seconds).toFixed(2)} s, ${memory.toFixed(1)} GB`);
}

if (values.way) {
  await measure(folder, values.way === "fused", values.size);
} else {
  const where = values.gpu ?? `${availableParallelism()} cores of ${cpus()[0]?.model}`;
  console.log(
    `${basename(folder)}, ${where}: a step with guidance, and the process' largest memory`,
  );
  for (const size of values.size.split(",")) {
    for (const way of ways) {
      const options = ["--size", size, "--way", way, "--rounds", values.rounds];
      const gpu = values.gpu ? ["--gpu", values.gpu] : [];
      const script = [fileURLToPath(import.meta.url), folder, ...options, ...gpu];
      const { stdout } = spawnSync("tsx", script, { encoding: "utf8", shell: false });
      console.log(
        `${size}, ${way}: ${stdout.trim().split("\n").at(-1) || "it ended without an answer"}`,
      );
    }
  }
}
