/** Whether a model fits into the memory that is free. */
import { inGb } from "../memory.js";
import type { OnnxFile } from "./file/onnx.js";
import { ModelProblem } from "./problem.js";

/** Room to compute in, besides the weights. */
const room = 256 * 2 ** 20;

/**
 * Bytes that graphs take in memory once they are loaded, about.
 * @param onGpu which computes in half precision; the CPU has hardly a kernel for it
 */
export const memoryOf = (files: readonly OnnxFile[], onGpu: boolean): number =>
  files.reduce((sum, { bytes, singleBytes }) => sum + (onGpu ? bytes : singleBytes), 0);

/**
 * Looks whether the CPU's memory has room, before it is taken.
 * @param free bytes
 * @throws ModelProblem that says how much is missing, and names the largest file
 */
export function checkMemory(files: readonly OnnxFile[], free: number): void {
  const needed = memoryOf(files, false) * 1.1 + room;
  if (needed <= free) return;
  const largest = files.toSorted((a, b) => b.singleBytes - a.singleBytes)[0]?.name;
  throw new ModelProblem(
    `${largest}: about ${inGb(needed)} GB of memory are needed, and ${inGb(free)} GB are free`,
  );
}
