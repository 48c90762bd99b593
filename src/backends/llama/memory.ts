/** What a model takes of memory. */
import type { Llama } from "node-llama-cpp";
import { lookAt } from "../local.js";
import type { LlamaLibrary } from "./library.js";

/** Bytes of a GGUF file, with all parts of a model in several files; 0 if it can't be read. */
export function bytesOf(path: string): number {
  const parts = /-00001-of-(\d{5})\.gguf$/i.exec(path);
  const count = parts ? Number(parts[1]) : 1;
  let sum = 0;
  for (let part = 1; part <= count; part++) {
    const file = path.replace("-00001-of-", `-${String(part).padStart(5, "0")}-of-`);
    sum += lookAt(parts ? file : path)?.size ?? 0;
  }
  return sum;
}

/** What decides about a context's memory. */
interface ContextShape {
  readonly contextSize?: number | undefined;
  readonly largestDefault: number;
  readonly sequences: number;
}

/**
 * Bytes that a model is going to take with its context, about; wherever they
 * are, on the CPU or a GPU. Of a file that can't be read, its size.
 */
export async function bytesNeeded(
  { readGgufFileInfo, GgufInsights }: LlamaLibrary,
  llama: Llama,
  path: string,
  { contextSize, largestDefault, sequences }: ContextShape,
): Promise<number> {
  try {
    const insights = await GgufInsights.from(
      await readGgufFileInfo(path, { logWarnings: false }),
      llama,
    );
    const size = contextSize ?? Math.min(insights.trainContextSize ?? Infinity, largestDefault);
    const model = await insights.estimateModelResourceRequirementsV2({ gpuLayers: 0 });
    const context = await insights.estimateContextResourceRequirementsV2({
      contextSize: size,
      modelGpuLayers: 0,
      sequences,
    });
    return model.cpuRam + context.cpuRam;
  } catch {
    // What is wrong with the file is for llama.cpp to say.
    return bytesOf(path);
  }
}
