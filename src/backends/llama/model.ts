/** A GGUF file, loaded: tokenizer, chat template, and sequences that share one context. */
import { availableParallelism } from "node:os";
import { basename } from "node:path";
import type { LlamaContext, LlamaContextSequence, LlamaModel, Token } from "node-llama-cpp";
import type { LLMMessage } from "../../../gen/lintel/v1/chat_pb.js";
import { LintelError } from "../../core/errors.js";
import type { Logger } from "../../core/log.js";
import type { Evaluation } from "./evaluation.js";
import { checkFile, whyNotLoaded } from "./file.js";
import { type Gpu, importLlama, type LlamaLibrary, runtime } from "./library.js";
import { Pool } from "./pool.js";
import { ChatTemplate, chatML } from "./template.js";

/** What to load, and how. */
export interface LlamaSettings {
  readonly path: string;
  /** Tokens that one sequence holds; absent: what the model was trained for, at most 4096. */
  readonly contextSize?: number | undefined;
  /** Calls that run at once. */
  readonly sequences: number;
  readonly gpu: Gpu;
  /** Absent: one per CPU core; one for small models. */
  readonly threads?: number | undefined;
}

const largestDefaultContext = 4096;

/**
 * llama.cpp's threads meet after every operation. Where an operation takes
 * microseconds, one thread is as fast as two; and where other processes use the
 * cores, two wait for each other a hundred times as long as they compute
 * (measured: 1,500 tokens a second against 2, of a model of 5 MB).
 */
const defaultThreads = (modelBytes: number) =>
  modelBytes < 64 * 1024 * 1024 ? 1 : availableParallelism();

/** A model that answers. */
export class LoadedModel {
  readonly model: LlamaModel;
  readonly pool: Pool<LlamaContextSequence>;
  /** Tokens that one sequence holds. */
  readonly contextSize: number;
  /** Texts that end an answer besides the model's own tokens. */
  readonly stops: readonly string[];
  readonly #context: LlamaContext;
  readonly #template: ChatTemplate;
  readonly #evaluations = new Set<Evaluation>();

  constructor(
    model: LlamaModel,
    context: LlamaContext,
    template: ChatTemplate,
    stops: readonly string[],
  ) {
    this.model = model;
    this.#context = context;
    this.#template = template;
    this.stops = stops;
    this.contextSize = context.contextSize;
    this.pool = new Pool(
      Array.from({ length: context.totalSequences }, () => context.getSequence()),
    );
  }

  /**
   * The tokens of a conversation, up to where the assistant speaks.
   * @throws LintelError `invalid_value` if the template refuses it
   */
  tokenize(messages: readonly LLMMessage[]): Token[] {
    const [first = "", ...rest] = this.#template.render(messages);
    const tokens = this.model.tokenize(first, true);
    for (const piece of rest) tokens.push(...this.model.tokenize(piece, true, "trimLeadingSpace"));
    const { bos, shouldPrependBosToken } = this.model.tokens;
    if (shouldPrependBosToken && bos !== null && tokens[0] !== bos) tokens.unshift(bos);
    return tokens;
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
    this.pool.release(evaluation.sequence);
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
 * @throws LintelError `unavailable` that names the file and what is wrong with it
 */
export async function loadModel(settings: LlamaSettings, log: Logger): Promise<LoadedModel> {
  const name = basename(settings.path);
  const fail = (why: string, cause?: unknown) =>
    new LintelError("unavailable", `${name}: ${why}`, { cause });
  await checkFile(settings.path).catch((cause: Error) => {
    throw fail(cause.message, cause);
  });
  const library = await importLlama();
  const { llama, loading } = await runtime(library, settings.gpu, log);
  return loading(async (said) => {
    let model: LlamaModel | undefined;
    try {
      model = await llama.loadModel({
        modelPath: settings.path,
        ...(settings.gpu === false && { gpuLayers: 0 }),
      });
      const context = await model.createContext({
        sequences: settings.sequences,
        contextSize:
          settings.contextSize ?? Math.min(model.trainContextSize, largestDefaultContext),
        threads: settings.threads ?? defaultThreads(model.size),
      });
      const { template, stops } = chatTemplateOf(library, model);
      return new LoadedModel(model, context, template, stops);
    } catch (cause) {
      await model?.dispose();
      throw fail(await whyNotLoaded(said, cause), cause);
    }
  });
}

/** @throws Error if the file's template can't be parsed or does not work */
function chatTemplateOf({ Template }: LlamaLibrary, model: LlamaModel) {
  const { tokenizer } = model.fileInfo.metadata;
  const own = tokenizer?.chat_template;
  const source = own || chatML;
  const texts = {
    bos: model.tokens.bosString ?? "",
    eos: model.tokens.eosString ?? "",
    control: controlTexts(model, tokenizer?.ggml?.tokens ?? [], source),
  };
  try {
    const template = new ChatTemplate(new Template(source), texts);
    return { template, stops: own ? [] : ["<|im_end|>"] };
  } catch (cause) {
    const why = cause instanceof Error ? cause.message.slice(0, 200) : "unknown reason";
    throw new Error(`its chat template does not work: ${why}`, { cause });
  }
}

/** Texts of the tokens that have a meaning besides their text. */
function controlTexts(model: LlamaModel, vocabulary: readonly string[], template: string) {
  const texts: string[] = [];
  for (const token of model.iterateAllTokens()) {
    const text = vocabulary[token];
    if (!text) continue;
    const { control, unknown, userDefined } = model.getTokenAttributes(token);
    // Some files declare their role marks as the users' own words.
    const mark = userDefined && text.trim() !== "" && template.includes(text);
    if (control || unknown || mark || model.isEogToken(token)) texts.push(text);
  }
  return texts;
}
