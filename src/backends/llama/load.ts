/** Loads a GGUF file, on a GPU or the CPU. */

import { availableParallelism } from "node:os";
import { basename } from "node:path";
import type { LlamaContext, LlamaModel, Token } from "node-llama-cpp";
import { LintelError } from "../../core/errors.js";
import type { Logger } from "../../core/log.js";
import type { EngineProgress } from "../engine-progress.js";
import type { Gpu } from "../gpu.js";
import { freeMemory, inGb } from "../memory.js";
import { batchingStrategy } from "./batching.js";
import { localFile } from "./download.js";
import { checkFile, whyNotLoaded } from "./file.js";
import { chatTemplateOf } from "./file-template.js";
import { Grammars } from "./grammar/grammars.js";
import { importLlama, type LlamaLibrary, type Runtime, runtime } from "./library.js";
import { bytesNeeded, bytesOf, type KvCacheType, partsOf } from "./memory.js";
import { LoadedModel } from "./model.js";
import { unloading } from "./residency.js";
import type { Lora } from "./schema.js";

/** What to load, and how. */
export interface LlamaSettings {
  /** The file, or its name on Hugging Face. */
  readonly path: string;
  /** Tokens that one sequence holds; absent: what the model was trained for, at most 4096. */
  readonly contextSize?: number | undefined;
  /** Calls that run at once. */
  readonly sequences: number;
  readonly gpu: Gpu;
  /** Layers that the GPU holds. Absent: as many as fit. */
  readonly gpuLayers?: number | "auto" | "max" | undefined;
  /** Absent: one per CPU core; one for small models. */
  readonly threads?: number | undefined;
  /** How what was read of conversations is kept. Absent: in half precision. */
  readonly kvCacheType?: KvCacheType | undefined;
  /** Whether attention is computed by parts. Absent: where that can be. */
  readonly flashAttention?: boolean | "auto" | undefined;
  /** Change the model in all calls, in their order. Absent: none do. */
  readonly loras?: readonly Lora[] | undefined;
  /** The operator's chat template; absent: the file's own. */
  readonly chatTemplate?: string | undefined;
}

/** What loading has to do with the rest of the process. */
export interface LoadOptions {
  readonly log: Logger;
  /** Folder for models that are fetched by name. */
  readonly downloads?: string | undefined;
  /** Ends a download, and a load. */
  readonly signal: AbortSignal;
  /** Whether the memory is reckoned with care also for models that are small. */
  readonly weigh?: boolean | undefined;
  /** Bytes for tests; absent: what the machine has. */
  readonly freeMemory?: number | undefined;
  /** Called before memory is taken; resolves when it may be. */
  admit?(bytes: number, path: string): Promise<void>;
  /** Does what the engine does: it may end the process. */
  watch?<T>(path: string, load: (moved: () => void) => Promise<T>): Promise<T>;
  /** Told what the engine does once it is loaded. */
  readonly progress?: EngineProgress | undefined;
}

const largestDefaultContext = 4096;

/** Files below this are not weighed unless asked for: they fit, and start at once. */
export const smallBytes = 64 * 1024 * 1024;

/**
 * llama.cpp's threads meet after every operation. Where an operation takes
 * microseconds, one thread is as fast as two; and where other processes use the
 * cores, two wait for each other a hundred times as long as they compute
 * (measured: 1,500 tokens a second against 2, of a model of 5 MB).
 */
const defaultThreads = (modelBytes: number) =>
  modelBytes < smallBytes ? 1 : availableParallelism();

/**
 * Loads a file. With `gpu: auto` one that no GPU takes runs on the CPU, and the log says so.
 * @throws LintelError `model_not_loaded` that names the file and what is wrong with it
 */
export async function loadModel(
  settings: LlamaSettings,
  options: LoadOptions,
): Promise<LoadedModel> {
  const { log, downloads: folder, signal } = options;
  const library = await importLlama();
  const path = folder
    ? await localFile(library, settings.path, { folder, log, signal })
    : settings.path;
  for (const part of partsOf(path)) {
    await checkFile(part).catch((cause: Error) => {
      throw notLoaded(part, cause.message, cause);
    });
  }
  for (const { path: lora } of settings.loras ?? []) {
    await checkFile(lora).catch((cause: Error) => {
      throw notLoaded(path, `loras: ${basename(lora)}: ${cause.message}`, cause);
    });
  }
  const engine = await runtime(library, settings.gpu, log);
  const load = (on: Runtime) => loadOn(on, library, { ...settings, path }, options);
  if (settings.gpu !== "auto" || engine.llama.gpu === false) return load(engine);
  try {
    return await load(engine);
  } catch (error) {
    if (signal.aborted) throw error;
    const loaded = await load(await runtime(library, false, log));
    const why = error instanceof Error ? error.message : undefined;
    log.warn({ path, why }, "no GPU can be used: it runs on the CPU");
    return loaded;
  }
}

async function loadOn(
  { llama, loading }: Runtime,
  library: LlamaLibrary,
  settings: LlamaSettings,
  options: LoadOptions,
): Promise<LoadedModel> {
  const { path, flashAttention, kvCacheType, loras = [] } = settings;
  const { log, signal, watch, progress } = options;
  const shape = { ...settings, largestDefault: largestDefaultContext };
  const size = bytesOf(path);
  const weigh = options.weigh || size >= smallBytes;
  const own = weigh ? await bytesNeeded(library, llama, path, shape) : size;
  const needed = loras.reduce((sum, lora) => sum + bytesOf(lora.path), own);
  await options.admit?.(needed, path);
  const free = options.freeMemory ?? freeMemory();
  if (weigh && llama.gpu === false && needed > free) {
    const why = `the model needs about ${inGb(needed)} GB of memory, and ${inGb(free)} GB are free`;
    throw notLoaded(path, why);
  }
  const load = async (said: readonly string[], moved = () => {}) => {
    if (signal.aborted) throw unloading();
    let model: LlamaModel | undefined;
    try {
      model = await llama.loadModel({
        modelPath: path,
        gpuLayers: llama.gpu === false ? 0 : gpuLayersOf(settings),
        loadSignal: signal,
        onLoadProgress: moved,
      });
      if (settings.contextSize && settings.contextSize > model.trainContextSize) {
        log.warn(
          { path, contextSize: settings.contextSize, trained: model.trainContextSize },
          "context_size is larger than what the model was trained for: long conversations may make no sense",
        );
      }
      const context = await model.createContext({
        sequences: settings.sequences,
        contextSize:
          settings.contextSize ?? Math.min(model.trainContextSize, largestDefaultContext),
        threads: settings.threads ?? defaultThreads(model.size),
        batching: { itemPrioritizationStrategy: batchingStrategy() },
        ...(flashAttention !== undefined && { flashAttention }),
        ...(kvCacheType && cacheOf(kvCacheType)),
        ...(loras.length > 0 && { lora: { adapters: loras.map(adapterOf) } }),
      });
      const speech = chatTemplateOf(library, model, settings.chatTemplate);
      await warmUp(model, context);
      const grammars = new Grammars(library, model);
      return new LoadedModel(model, context, grammars, speech, progress);
    } catch (cause) {
      await model?.dispose();
      if (signal.aborted) throw unloading();
      throw notLoaded(path, await whyNotLoaded(said, cause, llama), cause);
    }
  };
  return loading((said) => (watch ? watch(path, (moved) => load(said, moved)) : load(said)));
}

const notLoaded = (path: string, why: string, cause?: unknown) =>
  new LintelError("model_not_loaded", `${basename(path)}: ${why}`, { cause });

/**
 * Computes one token, so that the first call waits for no shader that is compiled and no page
 * that is read, and so that an engine that can't compute here shows it before the model is ready.
 */
async function warmUp(model: LlamaModel, context: LlamaContext): Promise<void> {
  const sequence = context.getSequence();
  await sequence.evaluateWithoutGeneratingNewTokens([model.tokens.bos ?? (0 as Token)]);
  await sequence.dispose();
}

const adapterOf = ({ path: filePath, scale = 1 }: Lora) => ({ filePath, scale });

/** The library's name of a type, for keys and values. */
function cacheOf(type: KvCacheType) {
  const name = type.toUpperCase() as Uppercase<KvCacheType>;
  return { experimentalKvCacheKeyType: name, experimentalKvCacheValueType: name };
}

/** As many as fit beside the context, unless it is said. */
function gpuLayersOf({ gpuLayers = "auto", contextSize, sequences }: LlamaSettings) {
  if (gpuLayers !== "auto") return gpuLayers;
  return { fitContext: { contextSize: (contextSize ?? largestDefaultContext) * sequences } };
}
