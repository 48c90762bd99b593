/** How likely tokens were: servers that tell nobody, or not in every answer. */
import type { LLMRequest } from "../../../../gen/lintel/v1/chat_pb.js";
import type { Call } from "../../../core/call.js";
import { logprobs as logprobsField } from "../../../core/parameters.js";

/** Stands for streams with it beside tools, where a server has the two only in whole answers. */
export const logprobsBesideTools = "streamed logprobs beside tools";

/** Whether a request wants to hear of tokens, and offers tools. */
export const tellsBesideTools = ({ logprobs = false, tools }: LLMRequest): boolean =>
  logprobs && tools.length > 0;

/** What of it a server may refuse that its caller is served without: all of it only where the operator says so. */
export function logprobsToRefuse(
  { request, modelSettings }: Call<"chat"> | Call<"complete">,
  stream: boolean,
): string[] {
  return [
    ...(stream && tellsBesideTools(request) ? [logprobsBesideTools] : []),
    ...(request.logprobs && modelSettings?.unsupported === "ignore" ? [logprobsField] : []),
  ];
}

/**
 * In the words of OpenAI (which come with 403), Groq, Google, DeepSeek and vLLM's plugins, and of checks that know no
 * such field.
 */
export const refusesLogprobs =
  /\blogprobs\b(?!.{0,40}\btools\b).{0,60}\b(?:un(?:supported|known|expected|recognized)|not (?:yet )?(?:supported|enabled|available|allowed|permitted)|extra)|\b(?:un(?:supported|known|expected|recognized)|extra|not (?:allowed|support|supported|permitted)|doesn't support)\b.{0,60}\blogprobs\b(?!.{0,40}\btools\b)/is;

/** Name of the field: who takes the other may not take this one. */
export const topLogprobs = "top_logprobs";

/** That alone: a value that can't be is the caller's to hear of. */
export const refusesOthers =
  /^(?!.*\blogprobs\b)(?=.*\btop_logprobs\b).*\b(?:un(?:supported|known|expected|recognized)|extra|(?:not|n't) (?:yet )?(?:support|supported|enabled|available|allowed|permitted))\b/is;

/** llama.cpp's words. */
export const refusesBesideTools = /\blogprobs\b.{0,40}\bnot supported\b.{0,20}\btools\b/is;
