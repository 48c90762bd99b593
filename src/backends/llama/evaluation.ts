/** The work of one completion on its sequence. */

import type { LlamaContextSequence, Token, TokenBias } from "node-llama-cpp";
import { unlessAborted } from "../../core/abort.js";
import type { CallSignal } from "../../core/cancellation.js";
import { EngineProgress } from "../engine-progress.js";
import { rankOf } from "./batching.js";
import type { Constraint } from "./grammar/grammars.js";

/** How tokens are chosen; in llama.cpp's terms, 0 turns `topK` off. */
export interface Sampling {
  readonly temperature: number;
  readonly topK: number;
  readonly topP: number;
  readonly seed: number;
  /** Share of the likeliest token's probability, from 0 to 1; absent: 0. */
  readonly minP?: number | undefined;
  /** What tokens lose that are among the last ones of an answer; absent: nothing. */
  readonly penalties?: Penalties | undefined;
}

/** In llama.cpp's terms. */
export interface Penalties {
  /** Default 1, none. */
  readonly penalty: number;
  readonly presencePenalty: number;
  readonly frequencyPenalty: number;
}

/** Tokens of an answer that are penalized, as llama.cpp's server and Ollama have it. */
const lastPenalized = 64;

/** A sequence of a context, and its number there. */
export interface Place {
  readonly sequence: LlamaContextSequence;
  readonly number: number;
}

/** What is to be done on a sequence. */
export interface Work {
  readonly prompt: readonly Token[];
  readonly sampling: Sampling;
  /** What tokens are likelier than they are by themselves; absent: none. Of a grammar it is the grammar's. */
  readonly bias?: TokenBias | undefined;
  /** What the answer has to be in form; absent: nothing. */
  readonly grammar?: Constraint | undefined;
  /** Tokens to make at the most. */
  readonly limit: number;
  /** Whether the answer is over with a token. */
  ends(token: Token): boolean;
}

/** The work on one sequence: the prompt in pieces, then token after token. */
export class Evaluation {
  readonly place: Place;
  readonly #work: Work;
  readonly #progress: EngineProgress;
  #tokens: ReturnType<LlamaContextSequence["evaluate"]> | undefined;
  #made = 0;
  /** The last tokens of the answer, where they are penalized. */
  readonly #recent: Token[] = [];
  /** The token after the one that was asked for last. */
  #ahead: Promise<Token | undefined> | undefined;
  #running: Promise<unknown> = Promise.resolve();
  #ended = false;

  /** @param progress told what is computed; default: nobody is */
  constructor(place: Place, work: Work, progress = new EngineProgress()) {
    this.place = place;
    this.#work = work;
    this.#progress = progress;
  }

  /**
   * The next token; nothing if the model has no more. The one after it is begun before
   * this one is read: so the sequence is back in line for the next batch.
   */
  next(signal: CallSignal): Promise<Token | undefined> {
    signal.throwIfAborted();
    const token = this.#ahead ?? this.#evaluate(signal);
    this.#ahead = token.then((value) =>
      this.#goesOn(value, signal) ? this.#evaluate(signal) : undefined,
    );
    this.#running = this.#ahead.catch(() => {});
    return unlessAborted(token, signal);
  }

  /** Resolves when nothing runs on the sequence any more. */
  async end(): Promise<void> {
    this.#ended = true;
    await this.#running;
    await this.#tokens?.return();
  }

  #goesOn(token: Token | undefined, signal: CallSignal): boolean {
    if (token === undefined || this.#ended || signal.aborted) return false;
    return this.#made < this.#work.limit && !this.#work.ends(token);
  }

  async #evaluate(signal: CallSignal): Promise<Token | undefined> {
    const { sequence, number } = this.place;
    const { bias, grammar, sampling } = this.#work;
    this.#progress.begin();
    try {
      this.#tokens ??= sequence.evaluate(await this.#prefill(signal), {
        ...sampling,
        ...(sampling.penalties && { repeatPenalty: this.#penalized(sampling.penalties) }),
        ...(bias && { tokenBias: bias }),
        ...(grammar && { grammarEvaluationState: grammar.state, tokenBias: grammar.bias }),
        yieldEogToken: true,
        evaluationPriority: rankOf(number),
      });
      this.#made++;
      const { value } = await this.#tokens.next();
      if (value !== undefined) {
        grammar?.take(value);
        if (sampling.penalties) this.#note(value);
      }
      return value ?? undefined;
    } finally {
      this.#progress.end();
    }
  }

  #penalized(penalties: Penalties) {
    return { ...penalties, punishTokens: () => this.#recent, maxPunishTokens: lastPenalized };
  }

  #note(token: Token): void {
    if (this.#recent.push(token) > lastPenalized) this.#recent.shift();
  }

  /** Evaluates all but the end of the prompt, which is returned. */
  async #prefill(signal: CallSignal): Promise<Token[]> {
    const { sequence, number } = this.place;
    const { batchSize } = sequence.context;
    const prompt = [...this.#work.prompt];
    // What the sequence still knows of an earlier call is used again, but for
    // the last token: something must be evaluated to have an answer.
    const { firstDifferentIndex } = sequence.compareContextTokens(prompt);
    const known = Math.min(firstDifferentIndex, prompt.length - 1);
    await sequence.eraseContextTokenRanges([{ start: known, end: sequence.nextTokenIndex }]);
    let at = sequence.nextTokenIndex;
    for (; prompt.length - at > batchSize; at += batchSize) {
      signal.throwIfAborted();
      await sequence.evaluateWithoutGeneratingNewTokens(prompt.slice(at, at + batchSize), {
        evaluationPriority: rankOf(number),
      });
      this.#progress.moved();
    }
    signal.throwIfAborted();
    return prompt.slice(at);
  }
}
