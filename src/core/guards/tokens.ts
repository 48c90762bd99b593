/**
 * Tokens of answers that guards look at. A token is told where all of its text was looked at, and left as it is: not
 * those of a text that is held back, or that another took the place of, and none that only might have stood somewhere.
 * Of what a model thinks and calls, and of marks around that, the texts are looked at in another form: none is told.
 */
import type { LLMChoice, TokenLogprob } from "../../../gen/lintel/v1/chat_pb.js";
import type { Call } from "../call.js";
import { untold } from "../completion/told-tokens.js";
import { logprobsOf, withLogprobs } from "../logprobs.js";
import { SpelledTokens, spelling } from "../spelled-tokens.js";

const withoutOthers =
  "top_logprobs: no guard has looked at other tokens than the answer's, left out";
const replaced = "logprobs: a guard replaced a part of the answer, left out";

/** A token without those that might have stood in its place. */
function alone(token: TokenLogprob, { warnings }: Call): TokenLogprob {
  const same = token.topLogprobs.filter((top) => top.token === token.token);
  if (same.length === token.topLogprobs.length) return token;
  warnings.add(withoutOthers);
  return { ...token, topLogprobs: same };
}

/** What is told of the tokens of a whole answer. @param left its text as guards leave it */
export function tokensLeft({ message, logprobs }: LLMChoice, left: string, call: Call) {
  if (!logprobs) return undefined;
  const isLeft = left === message?.content;
  const spelled = isLeft ? spelling(logprobs.content, left) : undefined;
  if (!spelled) call.warnings.add(isLeft ? untold : replaced);
  return spelled && spelled.length > 0
    ? logprobsOf(spelled.map((token) => alone(token, call)))
    : undefined;
}

/** What is told of the tokens of a stream. */
export class GuardedTokens {
  readonly #call: Call;
  readonly #spelled = new SpelledTokens();
  /** Tokens that may be told, and wait for a piece. */
  #waiting: TokenLogprob[] = [];
  /** Whether some text was told as it is, and whether a token of it was. */
  #said = false;
  #told = false;

  constructor(call: Call) {
    this.#call = call;
  }

  /** Takes those of a message. */
  add({ delta, logprobs }: LLMChoice): void {
    const isThought = delta?.content === "" && Boolean(delta.reasoningContent);
    if (logprobs && !isThought) this.#spelled.add(logprobs.content);
  }

  /** The guard has looked at the text that follows. @param isLeft whether it is told as it is */
  look(text: string, isLeft: boolean): void {
    if (isLeft) this.#said = true;
    for (const token of this.#spelled.take(text, isLeft)) {
      this.#waiting.push(alone(token, this.#call));
      this.#told = true;
    }
  }

  /** A piece that is told, with the tokens that wait. */
  with(choice: LLMChoice): LLMChoice {
    const tokens = this.#waiting;
    this.#waiting = [];
    if (choice.finishReason !== "" && this.#said && !this.#told) this.#call.warnings.add(untold);
    return withLogprobs(choice, tokens);
  }
}
