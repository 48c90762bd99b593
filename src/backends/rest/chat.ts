/** `POST /llm` of another gateway. */

import type { LLMRequest, LLMResponse } from "../../../gen/lintel/v1/chat_pb.js";
import type { Call } from "../../core/call.js";
import { isBiased } from "../../core/defaults.js";
import { isObject, type JsonObject, parseJson } from "../../core/json.js";
import { collectCompletion } from "../completions/collected.js";
import { readCompletion } from "../completions/completion.js";
import type { ServerEvent } from "../completions/events.js";
import {
  callFields,
  toolFields,
  writeContent,
  writeFormat,
  writeMark,
} from "../completions/fields.js";
import { writeImageConfig, writeImages } from "../completions/images.js";
import { answerLimit, type Dialogue, reading } from "../completions/reading.js";
import { saidPenalty } from "../completions/refusals/sampling.js";
import { thoughtFields } from "../completions/thoughts.js";
import { failureIn } from "./failure.js";
import { ask, type Gateway, handOnWarnings } from "./gateway.js";

/** Streams completions: a step for each read that brought text. */
export function chatOn(gateway: Gateway) {
  const dialogue: Dialogue = {
    ask: (call) => ask(gateway, "/llm", call, bodyOf(gateway, call.request, true)),
    whole: (text, call) => readWhole(call, text),
    take(event, stream, out, call) {
      const chunk = inspect(call, event);
      const renamed = chunk && "tokens_used" in chunk;
      stream.push(renamed ? { ...event, data: JSON.stringify(usual(chunk)) } : event, out);
    },
  };
  return (call: Call<"chat">) => reading(call, dialogue);
}

/** Runs a completion to its end. */
export async function* complete(
  gateway: Gateway,
  call: Call<"complete">,
): AsyncGenerator<readonly LLMResponse[]> {
  const answer = await ask(gateway, "/llm", call, bodyOf(gateway, call.request, false));
  yield [readWhole(call, await answer.text(answerLimit))];
}

/**
 * A chunk that says something besides text and usage; its warnings are handed on.
 * @throws LintelError as the gateway reports it
 */
function inspect(call: Call<"chat">, { data }: ServerEvent): JsonObject | undefined {
  // Few chunks have any of it: the others are not parsed twice.
  if (!/"(?:error|warnings|tokens_used)"\s*:/.test(data)) return undefined;
  const chunk = parseJson(data);
  if (!isObject(chunk)) return undefined;
  const failure = failureIn(chunk);
  if (failure) throw failure;
  handOnWarnings(call, chunk);
  return chunk;
}

/** An answer in the contract's form. Livepeer's workers call the usage `tokens_used`. */
const usual = ({ tokens_used, ...answer }: JsonObject): JsonObject => ({
  ...(tokens_used !== undefined && { usage: tokens_used }),
  ...answer,
});

function readWhole(call: Call<"chat"> | Call<"complete">, text: string): LLMResponse {
  const answer = parseJson(text);
  if (!isObject(answer)) return collectCompletion(text);
  const failure = failureIn(answer);
  if (failure) throw failure;
  handOnWarnings(call, answer);
  return readCompletion(JSON.stringify(usual(answer)));
}

function bodyOf(gateway: Gateway, request: LLMRequest, stream: boolean): object {
  const { messages, model, temperature, maxTokens, topP, topK, seed, stop, responseFormat } =
    request;
  const { reasoningEffort, includeReasoning, user, promptCacheKey, modalities, imageConfig } =
    request;
  const { frequencyPenalty, presencePenalty, repetitionPenalty, minP, verbosity, serviceTier } =
    request;
  const { logprobs, topLogprobs, logitBias } = request;
  return {
    model,
    messages: messages.map((message) => ({
      role: message.role,
      ...thoughtFields(message),
      ...(message.images.length > 0 && writeImages(message)),
      ...callFields(message),
      // The contract's is never null.
      content: writeContent(message),
    })),
    temperature,
    max_tokens: maxTokens,
    top_p: topP,
    top_k: topK,
    ...(seed !== undefined && seed >= 0n && { seed: Number(seed) }),
    ...(stop.length > 0 && { stop }),
    ...markedTools(request),
    ...(responseFormat && { response_format: writeFormat(responseFormat) }),
    ...(reasoningEffort !== "" && { reasoning_effort: reasoningEffort }),
    include_reasoning: includeReasoning,
    user: gateway.userOf(user),
    ...(promptCacheKey !== "" && { prompt_cache_key: promptCacheKey }),
    ...(modalities.length > 0 && { modalities }),
    // At its default none of these asks for anything, and a gateway may not know it.
    frequency_penalty: frequencyPenalty || undefined,
    presence_penalty: presencePenalty || undefined,
    repetition_penalty: saidPenalty(repetitionPenalty),
    min_p: minP || undefined,
    verbosity: verbosity || undefined,
    service_tier: serviceTier || undefined,
    logit_bias: isBiased(logitBias) ? logitBias : undefined,
    ...(imageConfig && { image_config: writeImageConfig(imageConfig) }),
    ...(logprobs && { logprobs, top_logprobs: topLogprobs }),
    stream,
  };
}

/** What a request says of tools, with marks for a cache of prompts, which stand at parts alone in OpenAI's form. */
function markedTools(request: LLMRequest) {
  const said = toolFields(request);
  if (!said || !request.tools.some(({ cacheControl }) => cacheControl)) return said;
  const tools = said.tools.map((tool, i) => {
    const mark = request.tools[i]?.cacheControl;
    return mark ? { ...tool, cache_control: writeMark(mark) } : tool;
  });
  return { ...said, tools };
}
