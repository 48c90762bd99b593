/** Requests for completions, as the AI SDK's common interface has them. */

import type { LanguageModelV3, LanguageModelV3CallOptions } from "@ai-sdk/provider";
import type { LLMMessage, LLMRequest } from "../../../gen/lintel/v1/chat_pb.js";
import type { Call } from "../../core/call.js";
import { isObject } from "../../core/json.js";
import { onlyOffersTools, usesTools } from "../../core/tool-calls.js";
import { notSupported } from "../../core/warnings.js";
import { promptCacheKey } from "../cache-key.js";
import { callHeaders } from "../call-headers.js";
import { callIds, hasOtherIds, idsFor } from "../call-ids.js";
import { besideCalls, tools } from "../completions/fields.js";
import { beyondContext } from "../completions/refusals/beyond-context.js";
import { blankMessages } from "../completions/refusals/blank.js";
import { conversationFor, conversationToRefuse } from "../completions/refusals/conversation.js";
import { logprobsToRefuse } from "../completions/refusals/logprobs.js";
import { type SamplingField, samplingToRefuse } from "../completions/refusals/sampling.js";
import { keywordWarnings, withToldSchemas } from "../completions/refusals/schema-keywords.js";
import { toolNamesToRefuse, withToldNames } from "../completions/refusals/tool-names.js";
import { toolParts } from "../completions/refusals/tool-parts.js";
import { hasStrictTools, strictness } from "../completions/refusals/tool-schemas.js";
import { endUser } from "../completions/refusals/words.js";
import { signedThoughts, summaries, thoughtsToRefuse } from "../completions/thoughts.js";
import type { PassUser } from "../end-user.js";
import { chatPackage } from "./chat-packages.js";
import { saysEffort } from "./efforts.js";
import { askingForUsage } from "./fetch.js";
import { isV4 } from "./load.js";
import { tokenOptions } from "./logprobs.js";
import { losesDetail } from "./parts.js";
import { promptOf } from "./prompt.js";
import {
  cacheKeyOf,
  extrasOf,
  parallelOf,
  providerOptionsOf,
  tierOf,
  userOf,
} from "./provider-options.js";
import { replayTo } from "./replay.js";
import { type Effort, effortOf } from "./request-effort.js";
import { formatOf, toolOptions } from "./tools.js";

const optionalFields = [
  ...["temperature", "top_p", "top_k", "seed", "parallel_tool_calls", "top_logprobs"],
  beyondContext,
] as const;

/** A call of either operation of chat. */
export type ChatCall = Call<"chat"> | Call<"complete">;

/** A call with a conversation, to be answered or counted. */
export type Asked = ChatCall | Call<"countTokens">;

/** What a vendor may refuse and the request can go without. @param refused what it has refused */
export const optionalFieldsOf = (
  call: ChatCall,
  configured: Configured,
  refused: ReadonlySet<string>,
): readonly string[] => {
  const { affinity, request } = call;
  return [
    ...optionalFields,
    ...samplingToRefuse(request, refused),
    ...toolNamesToRefuse(request, refused),
    ...(onlyOffersTools(request) ? [tools] : []),
    ...(hasStrictTools(request) ? [strictness] : []),
    ...(chatPackage(configured.package).asksUsage ? [streamOptions] : []),
    ...(hasOtherIds(request.messages) ? [callIds] : []),
    ...(Object.keys(userOf(request, configured, none)).length > 0 ? [endUser] : []),
    ...(cacheKeyOf({ affinity, request }, configured, none) ? [promptCacheKey] : []),
    ...(request.reasoningEffort === "" ? [] : [summaries]),
    ...(request.messages.some(({ reasoningDetails }) => reasoningDetails) ? [signedThoughts] : []),
    ...thoughtsToRefuse(request),
    ...conversationToRefuse(told(request.messages, configured, refused)),
    ...logprobsToRefuse(call, false),
  ];
};

/** A conversation as a provider is told it: hardly one takes images in what tools said, and none what says nothing. */
const told = (
  messages: readonly LLMMessage[],
  { package: name }: Configured,
  refused: ReadonlySet<string>,
): readonly LLMMessage[] => {
  const { forgetsCalls } = chatPackage(name);
  const ours = [blankMessages, toolParts, ...(forgetsCalls ? [tools] : [])];
  return conversationFor(messages, new Set([...refused, ...ours]));
};

/** What is configured for a model. */
export interface Configured {
  readonly model: LanguageModelV3;
  /** Name of the provider's package. */
  readonly package: string;
  readonly providerOptions: Record<string, Record<string, unknown>>;
  /** Whether it is told whom calls are for. Default: never. */
  readonly passUser?: PassUser | undefined;
}

/**
 * A request without what the vendor refuses. `signal` is the call's, or aborts with it.
 * @throws LintelError `unsupported_parameter` for images and files that the provider does not take
 */
export async function optionsOf(
  call: Asked,
  configured: Configured,
  refused: ReadonlySet<string>,
  signal: AbortSignal,
): Promise<LanguageModelV3CallOptions> {
  const { id } = call;
  const request = withToldSchemas(withToldNames(call.request, refused), refused);
  const { temperature, topP, topK = -1, maxTokens, seed, stop } = request;
  const { frequencyPenalty, presencePenalty } = request;
  const known = chatPackage(configured.package);
  for (const text of leftOut(call.request, configured.package, refused)) call.warnings.add(text);
  const takes = (field: (typeof optionalFields)[number] | SamplingField) => !refused.has(field);
  const effort = effortOf(call, configured, refused);
  const limit = effort.maxTokens ?? maxTokens;
  const { supportedUrls } = configured.model;
  // While a model thinks its provider leaves it out, and says so.
  const writeTopK = thinks(effort, configured) ? undefined : known.topK?.(configured.model.modelId);
  const replay = replayTo(known, isStored(configured), refused);
  const tokens = tokenOptions(request, known.tokens, refused);
  return {
    prompt: promptOf(told(request.messages, configured, refused), {
      files: { fetched: await supportedUrls, tagged: isV4(configured.model) },
      replay,
      idOf: idsFor(refused),
      // Others than the SDK's own may send by other means than our `fetch`; Bedrock's sign a request ahead of it.
      rewritten: /^@ai-sdk\/(?!amazon-bedrock)/.test(configured.package),
      marking: known.marking,
    }),
    ...(temperature !== undefined && takes("temperature") && { temperature }),
    // Some models refuse top_p beside temperature; at 1 it changes nothing.
    ...(topP !== undefined && topP < 1 && takes("top_p") && { topP }),
    ...(topK >= 1 && takes("top_k") && !writeTopK && { topK }),
    ...(limit !== undefined && takes(beyondContext) && { maxOutputTokens: limit }),
    ...(seed !== undefined && seed >= 0n && takes("seed") && { seed: Number(seed) }),
    ...(frequencyPenalty && takes("frequency_penalty") && { frequencyPenalty }),
    ...(presencePenalty && takes("presence_penalty") && { presencePenalty }),
    ...(stop.length > 0 && { stopSequences: stop }),
    ...(!refused.has(tools) && toolOptions(request, known, !refused.has(strictness))),
    ...formatOf(request.responseFormat),
    headers: {
      "x-request-id": id,
      ...callHeaders(call),
      ...(known.asksUsage && !refused.has(streamOptions) && askingForUsage),
    },
    abortSignal: signal,
    ...effort.common,
    providerOptions: providerOptionsOf(
      configured,
      request,
      extrasOf(request, configured, refused, tokens.passedOn),
      {
        ...effort.options,
        ...tokens.ofKeys,
        ...userOf(request, configured, refused),
        ...cacheKeyOf(call, configured, refused),
        ...(topK >= 1 && takes("top_k") && writeTopK?.(topK)),
        ...(!refused.has(tools) && takes("parallel_tool_calls") && parallelOf(request, known)),
        ...(takes("verbosity") && request.verbosity && known.verbosity?.(request.verbosity)),
        ...(takes("service_tier") && tierOf(request, known)),
        ...known.drawing?.options(request),
      },
    ),
  };
}

const streamOptions = "stream_options";

/** Warnings of what a provider leaves out without a word, and a caller is served without. */
function leftOut(
  request: LLMRequest,
  name: string,
  refused: ReadonlySet<string>,
): readonly string[] {
  const { messages } = request;
  const known = chatPackage(name);
  const { forgetsCalls } = known;
  const strict = !refused.has(tools) && refused.has(strictness) && hasStrictTools(request);
  const beside = refused.has(besideCalls) && messages.some(saysBesideCalls);
  return [
    ...keywordWarnings(request, refused),
    ...(losesDetail(messages, name) ? [notSupported("image_url.detail")] : []),
    ...(strict ? [notSupported(strictness)] : []),
    ...(tierOf(request, known) === undefined ? [notSupported("service_tier")] : []),
    ...(beside ? [`messages: ${besideCalls} is not supported by this model, ignored`] : []),
    ...(forgetsCalls && messages.some(usesTools)
      ? ["messages: tool_calls in them are not supported by this model, ignored"]
      : []),
  ];
}

const saysBesideCalls = ({ toolCalls, content }: LLMMessage): boolean =>
  toolCalls.length > 0 && content.trim() !== "";

/** Whether the operator lets the vendor keep answers, where that is the provider's to say. */
function isStored({ package: name, providerOptions }: Configured): boolean {
  const { keys, sent } = chatPackage(name);
  return sent?.store === false && keys.some((key) => providerOptions[key]?.store);
}

const none: ReadonlySet<string> = new Set();

/** Whether a model may think, as the request or the operator has it. */
const thinks = ({ options }: Effort, { providerOptions }: Configured): boolean =>
  saysEffort(providerOptions) ||
  (isObject(options.reasoningConfig) && options.reasoningConfig.type !== "disabled");
