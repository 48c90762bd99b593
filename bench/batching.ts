/**
 * What continuous batching gains: tokens per second of 8 streams at once against
 * one, of a model with random weights. Target: 3 times as many. Run by
 * `npm run bench:batching`; options of the model as `width=512 type=q8_0 threads=1 gpu=cuda`.
 */
import { mkdtemp, rm } from "node:fs/promises";
import { availableParallelism, tmpdir } from "node:os";
import { join } from "node:path";
import { gpuKinds } from "../src/backends/gpu.js";
import { answer, backendFor, chatRequest } from "../test/backends/llama-subject.js";
import { parametersOf, weightTypes, writeRandomModel } from "./random-gguf.js";
import { median } from "./targets.js";

const given = Object.fromEntries(process.argv.slice(2).map((word) => word.split("=")));
const option = (name: string, value: number) => Number(given[name] ?? value);
const shape = {
  width: option("width", 768),
  inner: option("inner", 2048),
  layers: option("layers", 8),
  heads: option("heads", 12),
  context: 512,
  vocabulary: option("vocabulary", 8192),
  type: weightTypes.find((type) => type === given.type) ?? "f16",
};
const streams = option("streams", 8);
const tokens = option("tokens", 128);
const threads = option("threads", availableParallelism());
const rounds = option("rounds", 5);

const folder = await mkdtemp(join(tmpdir(), "lintel-bench-"));
const path = join(folder, "random.gguf");
await writeRandomModel(path, shape);
const gpu = gpuKinds.find((kind) => kind === given.gpu) ?? false;
const backend = backendFor(path, { sequences: streams, threads, gpu });

/** Tokens per second of so many streams, all that the caller waits for included. */
async function measure(count: number): Promise<number> {
  const from = performance.now();
  const answers = await Promise.all(
    Array.from({ length: count }, (_, i) =>
      answer(backend, chatRequest(`Stream ${i} of ${from}`, { maxTokens: tokens })),
    ),
  );
  const made = answers.reduce((sum, { completion }) => sum + completion, 0);
  if (made !== count * tokens) throw new Error("a stream ended early");
  return (made / (performance.now() - from)) * 1000;
}

await measure(streams);
const alone: number[] = [];
const together: number[] = [];
// In turns, so that whatever else the machine does meets both.
for (let i = 0; i < rounds; i++) {
  alone.push(await measure(1));
  together.push(await measure(streams));
}
const parameters = `${(parametersOf(shape) / 1e6).toFixed(1)}M parameters, ${shape.type}`;
console.log(
  `${parameters}, ${gpu || `${threads} threads`}, ${tokens} tokens a stream, Node ${process.version}`,
);
console.log(`tokens per second, median of ${rounds}`);
console.log(`one stream    ${median(alone).toFixed(1).padStart(8)}`);
console.log(`${streams} streams     ${median(together).toFixed(1).padStart(8)}`);
console.log(`gain          ${(median(together) / median(alone)).toFixed(2).padStart(8)}`);
await backend.close();
await rm(folder, { recursive: true });
process.exit();
