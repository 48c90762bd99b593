/** How likely the tokens of a candidate were. */
import type { TokenLogprob, TopLogprob } from "../../../gen/lintel/v1/chat_pb.js";
import { toJsonString } from "../../core/json-string.js";

/** `logprobsResult` of a candidate as it follows other members; nothing of no tokens. */
export function logprobsText(tokens: readonly TokenLogprob[]): string {
  if (tokens.length === 0) return "";
  const chosen = tokens.map(tokenText).join(",");
  const told = tokens.some(({ topLogprobs }) => topLogprobs.length > 0);
  const tops = tokens.map(({ topLogprobs }) => {
    return `{"candidates":[${topLogprobs.map(tokenText).join(",")}]}`;
  });
  const others = told ? `"topCandidates":[${tops.join(",")}],` : "";
  return `,"logprobsResult":{${others}"chosenCandidates":[${chosen}]}`;
}

const tokenText = ({ token, logprob }: TokenLogprob | TopLogprob): string =>
  `{"token":${toJsonString(token)},"logProbability":${logprob}}`;

/** How likely all tokens of a candidate were. */
export class Likelihood {
  #count = 0;
  #sum = 0;

  add(tokens: readonly TokenLogprob[]): void {
    this.#count += tokens.length;
    for (const { logprob } of tokens) this.#sum += logprob;
  }

  /** `avgLogprobs` as it follows other members; nothing of no tokens. */
  text(): string {
    return this.#count === 0 ? "" : `,"avgLogprobs":${this.#sum / this.#count}`;
  }
}
