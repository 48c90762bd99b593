/** Whether a model fits into the memory that is free. */
import { inGb } from "../memory.js";
import type { OnnxFile } from "./file/onnx.js";
import { ModelProblem } from "./problem.js";

/** Room to compute in, besides the weights. */
const room = 256 * 2 ** 20;

/** Bytes that graphs take in memory once they are loaded, about. */
export const memoryOf = (files: readonly OnnxFile[]): number =>
  files.reduce((sum, { memory }) => sum + memory, 0);

/**
 * Looks whether there is room, before it is taken.
 * @param free bytes
 * @throws ModelProblem that says how much is missing, and names the largest file
 */
export function checkMemory(files: readonly OnnxFile[], free: number): void {
  const needed = memoryOf(files) * 1.1 + room;
  if (needed <= free) return;
  const largest = files.toSorted((a, b) => b.memory - a.memory)[0]?.name;
  throw new ModelProblem(
    `${largest}: about ${inGb(needed)} GB of memory are needed, and ${inGb(free)} GB are free`,
  );
}
