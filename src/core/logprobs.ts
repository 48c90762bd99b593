/** How likely the tokens of answers were: as backends give it, and as callers get it. */
import type {
  LLMChoice,
  LLMRequest,
  LLMResponse,
  Logprobs,
  TokenLogprob,
  TopLogprob,
} from "../../gen/lintel/v1/chat_pb.js";
import { wellFormed } from "./well-formed.js";

/** Stands for what is too little to be told. */
export const leastLogprob = -9999;

/** A logarithm of a probability as callers get it: JSON has no infinity, and of some servers it is null. */
const logprobOf = (value: number): number =>
  Number.isNaN(value) ? leastLogprob : Math.max(leastLogprob, Math.min(value, 0));

/** A token that might have stood somewhere. @param bytes of its text; absent: nobody tells */
export function topLogprob(token: string, logprob: number, bytes?: Uint8Array): TopLogprob {
  const told = logprobOf(logprob);
  const top: TopLogprob = { $typeName: "lintel.v1.TopLogprob", token, logprob: told };
  if (bytes) top.bytes = bytes;
  return top;
}

/** A token of an answer. @param bytes of its text; absent: nobody tells */
export function tokenLogprob(
  token: string,
  logprob: number,
  bytes: Uint8Array | undefined,
  topLogprobs: TopLogprob[],
): TokenLogprob {
  const told = logprobOf(logprob);
  const one: TokenLogprob = {
    $typeName: "lintel.v1.TokenLogprob",
    token,
    logprob: told,
    topLogprobs,
  };
  if (bytes) one.bytes = bytes;
  return one;
}

/** Tokens as an answer has them, or a message of one. */
export const logprobsOf = (content: TokenLogprob[]): Logprobs => ({
  $typeName: "lintel.v1.Logprobs",
  content,
});

/** A choice with what is told of its tokens; absent, or none: it stays as it is. */
export function withLogprobs(choice: LLMChoice, tokens: TokenLogprob[] | undefined): LLMChoice {
  if (tokens && tokens.length > 0) choice.logprobs = logprobsOf(tokens);
  return choice;
}

/** How many of the likeliest tokens a request wants to hear of at each place; `undefined`: of no token at all. */
export const toldBeside = ({ logprobs, topLogprobs = 0 }: LLMRequest): number | undefined =>
  logprobs ? topLogprobs : undefined;

/**
 * Tokens as callers get them: servers may be of anyone's making.
 * @param beside how many of the likeliest are told at each place: llama.cpp tells 20 where nobody asked
 */
export const tokensFor = (said: readonly TokenLogprob[], beside: number): TokenLogprob[] =>
  said.map(({ token, logprob, bytes, topLogprobs }) =>
    tokenLogprob(
      wellFormed(token),
      logprob,
      bytes,
      topLogprobs
        .slice(0, beside)
        .map((top) => topLogprob(wellFormed(top.token), top.logprob, top.bytes)),
    ),
  );

/** Letters of tokens, and of those that might have stood there; of each there is more to keep than its text. */
export const lengthOfTokens = (tokens: readonly TokenLogprob[]): number =>
  tokens.reduce((sum, { token, topLogprobs }) => {
    return topLogprobs.reduce((all, top) => all + lengthOf(top.token), sum + lengthOf(token));
  }, 0);

const lengthOf = (token: string): number => token.length + 8;

/** Most tokens that a server may tell of ahead of any text: further ones are dropped, or one that never says anything would fill the memory. */
export const mostAhead = 1000;

/** Tokens that wait for the message of a stream that they go with. */
export class WaitingTokens {
  readonly #most: number;
  #tokens: TokenLogprob[] = [];

  /** @param most once so many wait none is added. Default: any number */
  constructor(most = Number.POSITIVE_INFINITY) {
    this.#most = most;
  }

  add(tokens: readonly TokenLogprob[]): void {
    if (this.#tokens.length >= this.#most) return;
    // Not as arguments, of which there may be too many for the stack.
    for (const token of tokens) this.#tokens.push(token);
  }

  /** Gives them to one of the messages from a place on: to what is said, or else the first. Without one they wait. */
  giveTo(messages: readonly LLMResponse[], from: number): void {
    if (this.#tokens.length === 0 || messages.length === from) return;
    const made = messages.slice(from).map(({ choices: [choice] }) => choice);
    const choice = made.find((one) => one?.delta?.content) ?? made[0];
    if (!choice) return;
    choice.logprobs = logprobsOf(this.#tokens);
    this.#tokens = [];
  }
}
