/** What a model takes of memory. */
import type { Llama } from "node-llama-cpp";
import { lookAt } from "../local.js";
import type { LlamaLibrary } from "./library.js";
import type { ChatEngine } from "./schema.js";

/** The files of a model: of one in several, `path` is the first. */
export function partsOf(path: string): string[] {
  const count = Number(/-00001-of-(\d{5})\.gguf$/i.exec(path)?.[1] ?? 1);
  if (count <= 1) return [path];
  return Array.from({ length: count }, (_, i) =>
    path.replace(/-00001(?=-of-\d{5}\.gguf$)/i, `-${String(i + 1).padStart(5, "0")}`),
  );
}

/** Bytes of a GGUF file, with all parts of a model in several files; 0 if it can't be read. */
export const bytesOf = (path: string): number =>
  partsOf(path).reduce((sum, part) => sum + (lookAt(part)?.size ?? 0), 0);

/** How what was read of conversations may be kept. */
export type KvCacheType = NonNullable<ChatEngine["kv_cache_type"]>;

/** What decides about a context's memory. */
interface ContextShape {
  readonly contextSize?: number | undefined;
  readonly largestDefault: number;
  readonly sequences: number;
  readonly kvCacheType?: KvCacheType | undefined;
  readonly flashAttention?: boolean | "auto" | undefined;
}

/**
 * Bytes that a model is going to take with its context, about; wherever they
 * are, on the CPU or a GPU. Of a file that can't be read, its size.
 */
export async function bytesNeeded(
  { readGgufFileInfo, GgufInsights, GgmlType }: LlamaLibrary,
  llama: Llama,
  path: string,
  { contextSize, largestDefault, sequences, kvCacheType = "f16", flashAttention }: ContextShape,
): Promise<number> {
  try {
    const insights = await GgufInsights.from(
      await readGgufFileInfo(path, { logWarnings: false }),
      llama,
    );
    const size = contextSize ?? Math.min(insights.trainContextSize ?? Infinity, largestDefault);
    const model = await insights.estimateModelResourceRequirementsV2({ gpuLayers: 0 });
    const cacheType = GgmlType[kvCacheType.toUpperCase() as Uppercase<KvCacheType>];
    const context = await insights.estimateContextResourceRequirementsV2({
      contextSize: size,
      modelGpuLayers: 0,
      sequences,
      flashAttention,
      kvCacheKeyType: cacheType,
      kvCacheValueType: cacheType,
    });
    return model.cpuRam + context.cpuRam;
  } catch {
    // What is wrong with the file is for llama.cpp to say.
    return bytesOf(path);
  }
}
