/** Writes requests as OpenAI-compatible servers read them. */

import type { LLMMessage, LLMRequest } from "../../../gen/lintel/v1/chat_pb.js";
import { isBiased } from "../../core/defaults.js";
import { logprobs as logprobsField } from "../../core/parameters.js";
import { textFormOf } from "../../core/text-forms.js";
import { promptCacheKey } from "../cache-key.js";
import { type IdOf, idsFor } from "../call-ids.js";
import { callFields, toolFields, tools, writeContent, writeFormat } from "../completions/fields.js";
import { imageConfig, writeImageConfig, writeImages } from "../completions/images.js";
import type { Optional } from "../completions/refusals/asking.js";
import { beyondContext } from "../completions/refusals/beyond-context.js";
import { nullContent } from "../completions/refusals/blank.js";
import { conversationFor } from "../completions/refusals/conversation.js";
import { extraContents } from "../completions/refusals/extra-content.js";
import { saidPenalty } from "../completions/refusals/sampling.js";
import { withToldSchemas } from "../completions/refusals/schema-keywords.js";
import { withToldNames } from "../completions/refusals/tool-names.js";
import { endUser } from "../completions/refusals/words.js";
import { thinkingBesideTools, thoughtFields } from "../completions/thoughts.js";
import { jsonBody } from "../http/json-body.js";
import type { Dialect } from "./dialect.js";

/** How to write a request. */
export interface RequestOptions {
  readonly dialect: Dialect;
  readonly stream: boolean;
  /** What this server has refused for this model. A refused `max_tokens` goes by its other name. */
  readonly refused: ReadonlySet<string>;
  /** Most tokens of one completion. */
  readonly cap?: number | undefined;
  /** What it is told of whom the call is for; absent: nothing. */
  readonly user?: string | undefined;
  /** By what it finds the prompt's begin again; absent: nothing. */
  readonly cacheKey?: string | undefined;
}

/** The body of `POST /chat/completions`. */
export const writeRequest = (request: LLMRequest, options: RequestOptions): string | Uint8Array =>
  // What is undefined is not written.
  jsonBody(requestFields(request, options));

/** The fields of `POST /chat/completions`, for `jsonBody`, those that are not set as `undefined`. */
export function requestFields(asked: LLMRequest, options: RequestOptions) {
  const { dialect, stream, refused } = options;
  const request = refused.size > 0 ? told(asked, refused) : asked;
  const { temperature, topP, topK = -1, seed, stop, responseFormat } = request;
  const { frequencyPenalty, presencePenalty, repetitionPenalty, minP, verbosity, serviceTier } =
    request;
  const { logitBias } = request;
  const most = Math.min(request.maxTokens ?? Infinity, options.cap ?? Infinity);
  const maxTokens = Number.isFinite(most) && !refused.has(beyondContext) ? most : undefined;
  const usualName = (dialect.maxTokens === "max_tokens") !== refused.has("max_tokens");
  const takes = (field: Optional) => !refused.has(field) && !dialect.lacks.has(field);
  // Values first: as a rule there are none, and no list is looked through.
  const said = saidPenalty(repetitionPenalty);
  const penalty = said !== undefined && takes("repetition_penalty") ? said : undefined;
  const presence = presencePenalty && takes("presence_penalty") ? presencePenalty : undefined;
  const takesTools = !refused.has(tools);
  const unsigned = dialect.unsigned?.(request.model);
  const offered = takesTools ? toolFields(request, refused) : undefined;
  const wanted = takes("reasoning_effort") ? request.reasoningEffort : "";
  const effort = offered && refused.has(thinkingBesideTools) ? "none" : wanted;
  const messages = refused.size > 0 ? conversationFor(request.messages, refused) : request.messages;
  const idOf = idsFor(refused);
  const user = refused.has(endUser) ? undefined : options.user;
  const { logprobs: tells = false, topLogprobs: beside = 0 } = refused.has(logprobsField)
    ? none
    : request;
  const counted = dialect.logprobs === "count";
  const textForm = responseFormat && textFormOf(responseFormat);
  const fields = {
    model: request.model,
    messages: messages.map((message) => writeMessage(message, dialect, refused, unsigned, idOf)),
    temperature: takes("temperature") ? temperature : undefined,
    top_p: takes("top_p") && (topP !== 1 || dialect.wholeTopP) ? topP : undefined,
    top_k: topK >= 1 && dialect.topK && takes("top_k") ? topK : undefined,
    max_tokens: usualName ? maxTokens : undefined,
    max_completion_tokens: usualName ? undefined : maxTokens,
    seed:
      seed !== undefined && seed >= 0n && takes("seed")
        ? Math.min(Number(seed), dialect.lastSeed)
        : undefined,
    stop: stop.length > 0 ? stop : undefined,
    tools: offered?.tools,
    tool_choice: offered?.tool_choice,
    parallel_tool_calls: takes("parallel_tool_calls") ? offered?.parallel_tool_calls : undefined,
    response_format: responseFormat && !textForm ? writeFormat(responseFormat, refused) : undefined,
    reasoning_effort: effort || undefined,
    safety_identifier: dialect.user === "safety_identifier" ? user : undefined,
    user: dialect.user === "user" ? user : undefined,
    prompt_cache_key: refused.has(promptCacheKey) ? undefined : options.cacheKey,
    modalities: request.modalities.length > 0 ? request.modalities : undefined,
    // At its default none of these asks for anything.
    frequency_penalty:
      frequencyPenalty && takes("frequency_penalty") ? frequencyPenalty : undefined,
    presence_penalty: dialect.penalty === "presence_penalty" ? shifted(penalty) : presence,
    repetition_penalty: dialect.penalty === "repetition_penalty" ? penalty : undefined,
    repeat_penalty: dialect.penalty === "repeat_penalty" ? penalty : undefined,
    min_p: minP && takes("min_p") ? minP : undefined,
    verbosity: verbosity && takes("verbosity") ? verbosity : undefined,
    service_tier: serviceTier && takes("service_tier") ? serviceTier : undefined,
    logit_bias: isBiased(logitBias) && takes("logit_bias") ? logitBias : undefined,
    image_config:
      request.imageConfig && takes(imageConfig) ? writeImageConfig(request.imageConfig) : undefined,
    logprobs: tells ? (counted ? Math.max(beside, 1) : true) : undefined,
    top_logprobs: tells && beside > 0 && !counted && takes("top_logprobs") ? beside : undefined,
    stream,
    stream_options: stream && takes("stream_options") ? includeUsage : undefined,
  };
  if (textForm) Object.assign(fields, dialect.forms?.write(textForm, responseFormat));
  const thinking = effort ? dialect.thinking?.(effort) : undefined;
  return thinking ? Object.assign(fields, thinking) : fields;
}

/** TGI adds 2 to what it is told. */
const shifted = (penalty: number | undefined) => (penalty === undefined ? undefined : penalty - 2);

const none: Pick<LLMRequest, "logprobs" | "topLogprobs"> = {};

/** A request with tools and schemas as a server takes them. */
const told = (request: LLMRequest, refused: ReadonlySet<string>): LLMRequest =>
  withToldSchemas(withToldNames(request, refused), refused);

const includeUsage = { include_usage: true };

function writeMessage(
  message: LLMMessage,
  dialect: Dialect,
  refused: ReadonlySet<string>,
  unsigned: object | undefined,
  idOf: IdOf,
): object {
  const { role } = message;
  const called = callFields(message, unsigned, idOf, !refused.has(extraContents));
  const content = writeContent(message);
  const said = { role: called ? role : writeRole(role, dialect), content };
  const thinks = role === "assistant" && !dialect.forgetsThoughts;
  const draws = message.images.length > 0;
  if (!thinks && !called && !draws) return said;
  const drawn = draws && writeImages(message);
  Object.assign(said, thinks && thoughtFields(message, refused), drawn, called);
  return refused.has(nullContent) ? Object.assign(said, { content }) : said;
}

function writeRole(role: string, { developer }: Dialect): string {
  if (role === "developer" && !developer) return "system";
  // What came of a call that nobody names is refused.
  return role === "tool" ? "user" : role;
}
