/** The work of one completion on its sequence. */

import type { LlamaContextSequence, Token } from "node-llama-cpp";
import type { CallSignal } from "../../core/cancellation.js";
import { unlessAborted } from "../abort.js";

/** How tokens are chosen; in llama.cpp's terms, 0 turns `topK` off. */
export interface Sampling {
  readonly temperature: number;
  readonly topK: number;
  readonly topP: number;
  readonly seed: number;
}

/** The work on one sequence: the prompt in pieces, then token after token. */
export class Evaluation {
  readonly sequence: LlamaContextSequence;
  readonly #prompt: readonly Token[];
  readonly #sampling: Sampling;
  #tokens: ReturnType<LlamaContextSequence["evaluate"]> | undefined;
  #running: Promise<unknown> = Promise.resolve();

  constructor(sequence: LlamaContextSequence, prompt: readonly Token[], sampling: Sampling) {
    this.sequence = sequence;
    this.#prompt = prompt;
    this.#sampling = sampling;
  }

  /** The next token; nothing if the model has no more. */
  next(signal: CallSignal): Promise<Token | undefined> {
    signal.throwIfAborted();
    const step = this.#step(signal);
    this.#running = step.catch(() => {});
    return unlessAborted(step, signal);
  }

  /** Resolves when nothing runs on the sequence any more. */
  async end(): Promise<void> {
    await this.#running;
    await this.#tokens?.return();
  }

  async #step(signal: CallSignal): Promise<Token | undefined> {
    this.#tokens ??= this.sequence.evaluate(await this.#prefill(signal), {
      ...this.#sampling,
      yieldEogToken: true,
    });
    const { value } = await this.#tokens.next();
    return value ?? undefined;
  }

  /** Evaluates all but the end of the prompt, which is returned. */
  async #prefill(signal: CallSignal): Promise<Token[]> {
    const { sequence } = this;
    const { batchSize } = sequence.context;
    const prompt = [...this.#prompt];
    // What the sequence still knows of an earlier call is used again, but for
    // the last token: something must be evaluated to have an answer.
    const { firstDifferentIndex } = sequence.compareContextTokens(prompt);
    const known = Math.min(firstDifferentIndex, prompt.length - 1);
    await sequence.eraseContextTokenRanges([{ start: known, end: sequence.nextTokenIndex }]);
    let at = sequence.nextTokenIndex;
    for (; prompt.length - at > batchSize; at += batchSize) {
      signal.throwIfAborted();
      await sequence.evaluateWithoutGeneratingNewTokens(prompt.slice(at, at + batchSize));
    }
    signal.throwIfAborted();
    return prompt.slice(at);
  }
}
