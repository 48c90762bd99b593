/**
 * Attributes of the spans of calls. One that is absent stands there as `undefined`, which spans leave
 * out: objects put together of others would each leave descriptions of their own (bench/NOTES.md).
 */
import type { Attributes } from "@opentelemetry/api";
import type { LLMRequest } from "../../gen/lintel/v1/chat_pb.js";
import type { TextToImageRequest } from "../../gen/lintel/v1/image_pb.js";
import type { Call } from "../core/call.js";
import type { AttemptRecord } from "../core/call-attributes.js";
import { inShort } from "../core/log.js";
import { isChat } from "../core/methods.js";
import type { AnswerName } from "../core/telemetry.js";
import { wellFormed } from "../core/well-formed.js";
import { type Operation, operationOf } from "./operation.js";

/** What is done, and by whom; nothing of calls that ask no model. */
export const operationAttributes = (
  operation: Operation | undefined,
  provider: string,
): Attributes => ({
  "gen_ai.operation.name": operation?.name,
  "gen_ai.provider.name": operation && provider,
  "gen_ai.output.type": operation?.output,
  "gen_ai.request.stream": operation?.stream,
});

/**
 * Of a question to a backend when it begins.
 * @param attempt which of the call's it is, from 1; `mirror`: it is none of them
 */
export const attemptAttributes = (
  operation: Operation | undefined,
  provider: string,
  { backend, model, hedge }: Readonly<AttemptRecord>,
  attempt: number | "mirror",
): Attributes => ({
  "gen_ai.request.model": model,
  "lintel.backend": backend,
  "lintel.attempt": attempt === "mirror" ? undefined : attempt,
  "lintel.hedge": hedge,
  "lintel.mirror": attempt === "mirror" || undefined,
  ...operationAttributes(operation, provider),
});

/** What the model server says of its answer. */
export const answerAttributes = ({ id, model, finishReason, tier }: AnswerName): Attributes => ({
  "gen_ai.response.id": theirs(id),
  "gen_ai.response.model": theirs(model),
  "gen_ai.response.finish_reasons": finishReason ? [inShort(finishReason)] : undefined,
  "openai.response.service_tier": theirs(tier),
});

/** Words that nothing has checked: one that can't be written down would cost all spans of a batch. */
const theirs = (words: string) => inShort(wellFormed(words)) || undefined;

/** What the caller asked for. */
export function requestAttributes({ method, request, attributes: { model } }: Call): Attributes {
  // Nothing was checked yet: a number that OTLP has no room for would cost all spans of a batch.
  if (model === undefined || !operationOf(method)) return {};
  if (isChat(method)) {
    const { maxTokens, temperature, topP, topK, seed, stop, reasoningEffort } =
      request as LLMRequest;
    const { frequencyPenalty, presencePenalty, serviceTier } = request as LLMRequest;
    return {
      "gen_ai.request.max_tokens": maxTokens,
      "gen_ai.request.temperature": temperature,
      "gen_ai.request.top_p": topP,
      "gen_ai.request.top_k": topK,
      "gen_ai.request.seed": seed === undefined ? undefined : Number(seed),
      "gen_ai.request.frequency_penalty": frequencyPenalty,
      "gen_ai.request.presence_penalty": presencePenalty,
      "gen_ai.request.stop_sequences": stop.length > 0 ? stop.map(inShort) : undefined,
      "gen_ai.request.reasoning.level": reasoningEffort || undefined,
      "openai.request.service_tier": serviceTier || undefined,
    };
  }
  const { seed, numImagesPerPrompt } = request as TextToImageRequest;
  return {
    "gen_ai.request.seed": seed === undefined ? undefined : Number(seed),
    "gen_ai.request.choice.count": numImagesPerPrompt === 1 ? undefined : numImagesPerPrompt,
  };
}

/** What became of a call. */
export function callAttributes({ id, attributes }: Call): Attributes {
  const { model, caller, team, user, backend, attempts, queuedMs, documentsMs } = attributes;
  const { images, refusedBy, replayed, cache } = attributes;
  return {
    "lintel.request.id": id,
    "lintel.attempts": attempts,
    "gen_ai.request.model": model || undefined,
    "lintel.caller": caller || undefined,
    "lintel.team": team || undefined,
    "enduser.id": user || undefined,
    // By which Langfuse and Phoenix know users.
    "user.id": user || undefined,
    "lintel.backend": backend || undefined,
    "lintel.queue.duration": inSeconds(queuedMs),
    "lintel.documents.duration": inSeconds(documentsMs),
    "lintel.images": images || undefined,
    "lintel.replayed": replayed,
    "lintel.cache": cache,
    "lintel.limit.scope": refusedBy?.scope,
    "lintel.limit.quantity": refusedBy?.quantity,
    ...usageAttributes(attributes),
  };
}

/** Tokens, where they are known. */
export const usageAttributes = ({
  promptTokens,
  completionTokens,
  cachedTokens,
  cacheWriteTokens,
  reasoningTokens,
}: Call["attributes"]): Attributes => ({
  "gen_ai.usage.input_tokens": promptTokens,
  "gen_ai.usage.cache_read.input_tokens": cachedTokens,
  "gen_ai.usage.cache_creation.input_tokens": cacheWriteTokens,
  "gen_ai.usage.output_tokens": completionTokens,
  "gen_ai.usage.reasoning.output_tokens": reasoningTokens,
});

const inSeconds = (ms: number | undefined) => (ms === undefined ? undefined : ms / 1000);
