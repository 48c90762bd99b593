/** A GGUF file, loaded: tokenizer, chat template, and sequences that share one context. */

import { setImmediate } from "node:timers/promises";
import type { LlamaContext, LlamaModel, Token } from "node-llama-cpp";
import type { LLMMessage } from "../../../gen/lintel/v1/chat_pb.js";
import type { CallSignal } from "../../core/cancellation.js";
import { EngineProgress } from "../engine-progress.js";
import { type ChannelTokens, onChannel } from "./channels.js";
import type { Evaluation, Place } from "./evaluation.js";
import type { Speech } from "./file-template.js";
import type { Grammars } from "./grammar/grammars.js";
import { inParts } from "./parts.js";
import { Pool } from "./pool.js";
import type { Asked } from "./template.js";
import type { WrittenMarks } from "./thoughts.js";
import type { ToolForm } from "./tools/form.js";

/** A model that answers. */
export class LoadedModel {
  readonly model: LlamaModel;
  readonly pool: Pool<Place>;
  /** Tokens that one sequence holds. */
  readonly contextSize: number;
  /** Texts that end an answer besides the model's own tokens. */
  readonly stops: readonly string[];
  /** Absent: it writes on no channels. */
  readonly channels: ChannelTokens | undefined;
  /** In which sections it writes; absent: in none. */
  readonly sections: Speech["sections"];
  /** How it marks thoughts in front of its answers; absent: all that it writes is said. */
  readonly thoughts: WrittenMarks | undefined;
  /** Whether it can be told how much to think. */
  readonly hasEffort: boolean;
  /** In what form it calls tools; absent: it does not know of any. */
  readonly tools: ToolForm | undefined;
  /** Control tokens that calls begin or end with. */
  readonly marks: ReadonlyMap<Token, string>;
  /** Where it runs, and of how many layers a GPU holds how many. */
  readonly where: { readonly runs: string; readonly gpuLayers?: string };
  /** Hold answers to a form. */
  readonly grammars: Grammars;
  /** What it computes. */
  readonly progress: EngineProgress;
  readonly #context: LlamaContext;
  readonly #template: Speech["template"];
  readonly #evaluations = new Set<Evaluation>();

  constructor(
    model: LlamaModel,
    context: LlamaContext,
    grammars: Grammars,
    { template, stops, channels, sections, thoughts, hasEffort, tools, marks }: Speech,
    progress = new EngineProgress(),
  ) {
    this.model = model;
    this.grammars = grammars;
    this.progress = progress;
    this.#context = context;
    this.#template = template;
    this.stops = stops;
    this.channels = channels;
    this.sections = sections;
    this.thoughts = thoughts;
    this.hasEffort = hasEffort;
    this.tools = tools;
    this.marks = marks;
    this.contextSize = context.contextSize;
    const { gpuLayers, fileInsights, llama } = model;
    this.where =
      gpuLayers > 0 && llama.gpu
        ? { runs: llama.gpu, gpuLayers: `${gpuLayers} of ${fileInsights.totalLayers}` }
        : { runs: "cpu" };
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
   * @param asked of the answer
   * @throws LintelError `invalid_value` if the template refuses it
   */
  tokenize(messages: readonly LLMMessage[], asked?: Asked): Token[] {
    const tokens: Token[] = [];
    for (const part of this.#parts(messages, asked)) {
      for (const token of part) tokens.push(token);
      if (tokens.length > this.contextSize) break;
    }
    return this.#framed(tokens, asked);
  }

  /**
   * How many tokens a conversation has, also one that does not fit.
   * @param asked of the answer
   * @throws LintelError `invalid_value` if the template refuses it; the signal's reason
   */
  async count(messages: readonly LLMMessage[], asked: Asked, signal: CallSignal): Promise<number> {
    const tokens: Token[] = [];
    for (const part of this.#parts(messages, asked)) {
      for (const token of part) tokens.push(token);
      // Others are served between the parts of a long one.
      await setImmediate();
      signal.throwIfAborted();
    }
    return this.#framed(tokens, asked).length;
  }

  *#parts(messages: readonly LLMMessage[], asked?: Asked): Generator<readonly Token[]> {
    let option: "trimLeadingSpace" | undefined;
    for (const piece of inParts(this.#template.render(messages, asked), this.contextSize)) {
      yield this.model.tokenize(piece, true, option);
      option = "trimLeadingSpace";
    }
  }

  /** With what stands ahead of a prompt and behind it. */
  #framed(tokens: Token[], asked?: Asked): Token[] {
    const { bos, shouldPrependBosToken } = this.model.tokens;
    if (shouldPrependBosToken && bos !== null && tokens[0] !== bos) tokens.unshift(bos);
    const { channels, model } = this;
    const first = asked?.thinksFirst ? "analysis" : "final";
    if (channels && (asked?.thinksFirst || asked?.effort === "none")) {
      const header = onChannel(first, channels, tokens, (text) => model.tokenize(text));
      const isChosen = first === "final" && asked.mayCall && header.length > 0;
      const chosen = channels.channel === undefined ? [] : [channels.channel];
      tokens.push(...(isChosen ? chosen : header));
    }
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
    this.progress.begin();
    try {
      await this.#context.dispose();
      await this.model.dispose();
    } finally {
      this.progress.end();
    }
  }
}
