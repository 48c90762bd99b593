/** What callers are told of the tokens of an answer, where they ask for it. */
import type {
  LLMChoice,
  LLMRequest,
  LLMResponse,
  TokenLogprob,
} from "../../../gen/lintel/v1/chat_pb.js";
import type { Call } from "../call.js";
import { lengthOfTokens, tokensFor, toldBeside, WaitingTokens, withLogprobs } from "../logprobs.js";
import { logprobs as logprobsField } from "../parameters.js";
import { SpelledTokens, spelling } from "../spelled-tokens.js";
import { hidesReasoning } from "../unseen.js";
import type { Warnings } from "../warnings.js";

/** Of one call; `undefined` where its caller asks for none. */
export function toldTokensOf(call: Call): ToldTokens | undefined {
  const beside = toldBeside(call.request as LLMRequest);
  return beside === undefined
    ? undefined
    : new ToldTokens(beside, hidesReasoning(call.request), call.warnings);
}

/** Takes what a model server tells of tokens: of thoughts that the caller does not see it tells nothing. */
export class ToldTokens {
  readonly #beside: number;
  readonly #warnings: Warnings;
  /** Absent: all that the model made is for the caller. */
  readonly #spelled: SpelledTokens | undefined;
  readonly #waiting = new WaitingTokens();
  /** Whether the server tells any, and whether the caller gets one. */
  #any = false;
  #told = false;
  #length = 0;

  constructor(beside: number, hidesThoughts: boolean, warnings: Warnings) {
    this.#beside = beside;
    this.#warnings = warnings;
    this.#spelled = hidesThoughts ? new SpelledTokens() : undefined;
  }

  /** Letters of all of them. */
  get length(): number {
    return this.#length;
  }

  /**
   * Takes a piece of a stream, and gives its tokens to what was made of it.
   * @param made the messages of the answer, the piece's from a place on
   */
  take({ delta, logprobs }: LLMChoice, made: readonly LLMResponse[], from: number): void {
    const { content = "", reasoningContent = "" } = delta ?? {};
    if (logprobs && logprobs.content.length > 0) {
      this.#any = true;
      const tokens = tokensFor(logprobs.content, this.#beside);
      this.#length += lengthOfTokens(tokens);
      // What came as a whole is one piece: thoughts stand ahead of what is said.
      const isWhole = content !== "" && reasoningContent !== "";
      const [first] = (isWhole && spelling(tokens, content)) || [];
      const thoughts = first ? tokens.indexOf(first) : 0;
      const thought = made[from]?.choices[0];
      if (!this.#spelled) {
        if (thoughts > 0 && thought) withLogprobs(thought, tokens.slice(0, thoughts));
        this.#waiting.add(tokens.slice(thoughts));
      } else if (content !== "" || reasoningContent === "") {
        this.#spelled.add(tokens.slice(thoughts));
      }
    }
    this.give(made, from);
  }

  /** Gives what waits to messages that were made, from a place on. */
  give(made: readonly LLMResponse[], from: number): void {
    if (!this.#spelled) {
      this.#waiting.giveTo(made, from);
      return;
    }
    for (const { choices } of made.slice(from)) {
      for (const choice of choices) {
        const tokens = this.#spelled.take(choice.delta?.content ?? "", true);
        if (tokens.length > 0) this.#told = true;
        withLogprobs(choice, tokens);
      }
    }
  }

  /** Those of a whole answer. @param content as the caller gets it */
  ofWhole({ logprobs }: LLMChoice, content: string): TokenLogprob[] | undefined {
    if (!logprobs || logprobs.content.length === 0) return undefined;
    this.#any = true;
    const tokens = tokensFor(logprobs.content, this.#beside);
    const told = this.#spelled ? spelling(tokens, content) : tokens;
    this.#told = told !== undefined;
    return told;
  }

  /** The answer is over. @param said whether it has a text */
  end(said: boolean): void {
    if (!said) return;
    // A model that supports none, and a server that refused to tell them, have a warning of their own.
    const known = [...this.#warnings].some((text) => text.startsWith(`${logprobsField}:`));
    if (!this.#any && !known) this.#warnings.add(missing);
    if (this.#any && this.#spelled && !this.#told) this.#warnings.add(untold);
  }
}

const missing = `${logprobsField}: the model server told none`;

/** Of tokens of which nobody knows whether they are thoughts, or were looked at. */
export const untold = `${logprobsField}: the model server's tokens do not spell its answer, left out`;
