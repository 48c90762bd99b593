/** A GGUF file, loaded: tokenizer, chat template, and sequences that share one context. */

import { availableParallelism } from "node:os";
import { basename } from "node:path";
import type { LlamaContext, LlamaModel, Token } from "node-llama-cpp";
import type { LLMMessage } from "../../../gen/lintel/v1/chat_pb.js";
import { LintelError } from "../../core/errors.js";
import type { Logger } from "../../core/log.js";
import type { Gpu } from "../gpu.js";
import { freeMemory, inGb } from "../memory.js";
import { batchingStrategy } from "./batching.js";
import type { ChannelTokens } from "./channels.js";
import { localFile } from "./download.js";
import type { Evaluation, Place } from "./evaluation.js";
import { checkFile, whyNotLoaded } from "./file.js";
import { chatTemplateOf } from "./file-template.js";
import { importLlama, runtime } from "./library.js";
import { bytesNeeded, bytesOf, partsOf } from "./memory.js";
import { inParts } from "./parts.js";
import { Pool } from "./pool.js";
import { unloading } from "./residency.js";
import type { ChatTemplate } from "./template.js";

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
  watch?<T>(path: string, load: () => Promise<T>): Promise<T>;
}

const largestDefaultContext = 4096;

/** Files below this are not weighed unless asked for: they fit, and start at once. */
const smallBytes = 64 * 1024 * 1024;

/**
 * llama.cpp's threads meet after every operation. Where an operation takes
 * microseconds, one thread is as fast as two; and where other processes use the
 * cores, two wait for each other a hundred times as long as they compute
 * (measured: 1,500 tokens a second against 2, of a model of 5 MB).
 */
const defaultThreads = (modelBytes: number) =>
  modelBytes < smallBytes ? 1 : availableParallelism();

/** A model that answers. */
export class LoadedModel {
  readonly model: LlamaModel;
  readonly pool: Pool<Place>;
  /** Tokens that one sequence holds. */
  readonly contextSize: number;
  /** Texts that end an answer besides the model's own tokens. */
  readonly stops: readonly string[];
  /** Absent: all that it writes is for its reader. */
  readonly channels: ChannelTokens | undefined;
  readonly #context: LlamaContext;
  readonly #template: ChatTemplate;
  readonly #evaluations = new Set<Evaluation>();

  constructor(
    model: LlamaModel,
    context: LlamaContext,
    template: ChatTemplate,
    stops: readonly string[],
    channels: ChannelTokens | undefined,
  ) {
    this.model = model;
    this.#context = context;
    this.#template = template;
    this.stops = stops;
    this.channels = channels;
    this.contextSize = context.contextSize;
    this.pool = new Pool(
      Array.from({ length: context.totalSequences }, (_, number) => ({
        sequence: context.getSequence(),
        number,
      })),
    );
  }

  /**
   * The tokens of a conversation, up to where the assistant speaks; of one that does not fit
   * maybe only the first, but more than fit.
   * @throws LintelError `invalid_value` if the template refuses it
   */
  tokenize(messages: readonly LLMMessage[]): Token[] {
    const tokens: Token[] = [];
    let option: "trimLeadingSpace" | undefined;
    for (const piece of inParts(this.#template.render(messages), this.contextSize)) {
      for (const token of this.model.tokenize(piece, true, option)) tokens.push(token);
      if (tokens.length > this.contextSize) break;
      option = "trimLeadingSpace";
    }
    const { bos, shouldPrependBosToken } = this.model.tokens;
    if (shouldPrependBosToken && bos !== null && tokens[0] !== bos) tokens.unshift(bos);
    return tokens;
  }

  /** Whether an answer is over with a token: the end of a message is not, where more may follow on other channels. */
  ends(token: Token): boolean {
    return token !== this.channels?.end && this.model.isEogToken(token);
  }

  /** Notes that an evaluation begins. */
  begin(evaluation: Evaluation): Evaluation {
    this.#evaluations.add(evaluation);
    return evaluation;
  }

  /** Gives the sequence back to the pool as soon as nothing runs on it any more. */
  async end(evaluation: Evaluation): Promise<void> {
    await evaluation.end();
    this.#evaluations.delete(evaluation);
    this.pool.release(evaluation.place);
  }

  /** Frees the memory, after what runs at this moment. Calls must have been aborted. */
  async close(): Promise<void> {
    await Promise.all([...this.#evaluations].map((evaluation) => evaluation.end()));
    await this.#context.dispose();
    await this.model.dispose();
  }
}

/**
 * Loads a file.
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
  const fail = (why: string, cause?: unknown, file = path) =>
    new LintelError("model_not_loaded", `${basename(file)}: ${why}`, { cause });
  for (const part of partsOf(path)) {
    await checkFile(part).catch((cause: Error) => {
      throw fail(cause.message, cause, part);
    });
  }
  const { llama, loading } = await runtime(library, settings.gpu, log);
  const shape = { ...settings, largestDefault: largestDefaultContext };
  const size = bytesOf(path);
  const weigh = options.weigh || size >= smallBytes;
  const needed = weigh ? await bytesNeeded(library, llama, path, shape) : size;
  await options.admit?.(needed, path);
  const free = options.freeMemory ?? freeMemory();
  if (weigh && settings.gpu === false && needed > free) {
    throw fail(`the model needs about ${inGb(needed)} GB of memory, and ${inGb(free)} GB are free`);
  }
  const load = async (said: readonly string[]) => {
    if (signal.aborted) throw unloading();
    let model: LlamaModel | undefined;
    try {
      model = await llama.loadModel({
        modelPath: path,
        gpuLayers: settings.gpu === false ? 0 : gpuLayersOf(settings),
        loadSignal: signal,
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
      });
      const { template, stops, channels } = chatTemplateOf(library, model);
      await warmUp(model, context);
      return new LoadedModel(model, context, template, stops, channels);
    } catch (cause) {
      await model?.dispose();
      if (signal.aborted) throw unloading();
      throw fail(await whyNotLoaded(said, cause), cause);
    }
  };
  const { watch } = options;
  return loading((said) => (watch ? watch(path, () => load(said)) : load(said)));
}

/**
 * Computes one token, so that the first call waits for no shader that is compiled and no page
 * that is read, and so that an engine that can't compute here shows it before the model is ready.
 */
async function warmUp(model: LlamaModel, context: LlamaContext): Promise<void> {
  const sequence = context.getSequence();
  await sequence.evaluateWithoutGeneratingNewTokens([model.tokens.bos ?? (0 as Token)]);
  await sequence.dispose();
}

/** As many as fit beside the context, unless it is said. */
function gpuLayersOf({ gpuLayers = "auto", contextSize, sequences }: LlamaSettings) {
  if (gpuLayers !== "auto") return gpuLayers;
  return { fitContext: { contextSize: (contextSize ?? largestDefaultContext) * sequences } };
}
