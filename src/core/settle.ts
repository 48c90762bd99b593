/** How many tokens a call took, as the model server tells, or else about so many. */
import type { LLMRequest, LLMTokenUsage } from "../../gen/lintel/v1/chat_pb.js";
import type { Call } from "./call.js";
import type { Attributes } from "./call-attributes.js";
import { detailsOf, partOf, tokenUsage } from "./chat-messages.js";
import { estimatePrompt, estimateTokens } from "./estimate.js";

/**
 * Notes the counts down; estimates them where the model server gave none. A prompt has some tokens,
 * and so has a text: 0 of them is no count.
 * @param bytes of the answer so far, UTF-8
 * @param theirs whether what is reported is an estimate itself
 * @returns whether one of them is an estimate
 */
export function settle(
  call: Call,
  reported: LLMTokenUsage | undefined,
  bytes: number,
  theirs = false,
): boolean {
  const { attributes, request } = call;
  const promptMissing = !reported || reported.promptTokens === 0;
  const completionMissing = !reported || (reported.completionTokens === 0 && bytes > 0);
  const prompt = promptMissing
    ? (attributes.promptTokens ?? estimatePrompt(request as LLMRequest))
    : reported.promptTokens;
  const completion = completionMissing ? estimateTokens(bytes) : reported.completionTokens;
  // Of counts that the contract has no sum for none is believed.
  if (reported && prompt + completion > mostTokens) {
    attributes.promptTokens = estimatePrompt(request as LLMRequest);
    return settle(call, undefined, bytes);
  }
  attributes.promptTokens = prompt;
  attributes.completionTokens = completion;
  // A node may be of anyone's making: more of them in a cache than there are would earn money.
  const cached = promptMissing ? undefined : partOf(reported.promptTokens, reported.cachedTokens);
  attributes.cachedTokens = cached;
  const written = promptMissing
    ? undefined
    : partOf(reported.promptTokens - (cached ?? 0), reported.cacheWriteTokens);
  attributes.cacheWriteTokens = written;
  attributes.cacheWrite1hTokens = partOf(written ?? 0, reported?.cacheWrite1hTokens);
  attributes.reasoningTokens = completionMissing
    ? undefined
    : partOf(reported.completionTokens, reported.reasoningTokens);
  const estimated = promptMissing || completionMissing || theirs;
  attributes.estimated = estimated;
  return estimated;
}

/** The greatest sum of them: a uint32. */
const mostTokens = 2 ** 32 - 1;

/** What a call took of models: nothing where its answer was made for an earlier one. */
export const takenBy = (attributes: Attributes): Partial<Attributes> =>
  attributes.replayed || attributes.cache === "hit" ? {} : attributes;

/** The counts that were noted down. */
export const settled = ({ attributes }: Call): LLMTokenUsage => {
  const { promptTokens = 0, completionTokens = 0 } = attributes;
  const { cachedTokens, cacheWriteTokens, cacheWrite1hTokens, reasoningTokens } = attributes;
  const details = detailsOf(cachedTokens, cacheWriteTokens, reasoningTokens, cacheWrite1hTokens);
  return tokenUsage(promptTokens, completionTokens, details);
};
