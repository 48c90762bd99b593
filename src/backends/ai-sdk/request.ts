/** Requests for completions, as the AI SDK's common interface has them. */
import type { LanguageModelV3, LanguageModelV3CallOptions } from "@ai-sdk/provider";
import type { LLMRequest } from "../../../gen/lintel/v1/chat_pb.js";
import type { Call } from "../../core/call.js";
import { traceHeaders } from "../../core/telemetry.js";
import { onlyOffersTools } from "../../core/tool-calls.js";
import { tools } from "../completions/fields.js";
import { chatPackage } from "./packages.js";
import { losesDetail } from "./parts.js";
import { promptOf } from "./prompt.js";
import { formatOf, toolOptions } from "./tools.js";

const optionalFields = ["temperature", "top_p", "top_k", "seed"] as const;

/** What a vendor may refuse and the request can go without. */
export const optionalFieldsOf = (request: LLMRequest): readonly string[] =>
  onlyOffersTools(request) ? [...optionalFields, tools] : optionalFields;

/** What is configured for a model. */
export interface Configured {
  readonly model: LanguageModelV3;
  /** Name of the provider's package. */
  readonly package: string;
  readonly providerOptions: Record<string, Record<string, unknown>>;
}

/**
 * A request without what the vendor refuses. `signal` is the call's, or aborts with it.
 * @throws LintelError `unsupported_parameter` for images that the provider does not take
 */
export async function optionsOf(
  call: Call<"chat"> | Call<"complete">,
  configured: Configured,
  refused: ReadonlySet<string>,
  signal: AbortSignal,
): Promise<LanguageModelV3CallOptions> {
  const { request, id } = call;
  const { temperature, topP, topK = -1, maxTokens, seed, stop } = request;
  if (losesDetail(request.messages, configured.package)) {
    call.warnings.add("image_url.detail: not supported by this model, ignored");
  }
  const takes = (field: (typeof optionalFields)[number]) => !refused.has(field);
  return {
    prompt: promptOf(request.messages, !refused.has(tools), await configured.model.supportedUrls),
    ...(temperature !== undefined && takes("temperature") && { temperature }),
    // Some models refuse top_p beside temperature; at 1 it changes nothing.
    ...(topP !== undefined && topP < 1 && takes("top_p") && { topP }),
    ...(topK >= 1 && takes("top_k") && { topK }),
    ...(maxTokens !== undefined && { maxOutputTokens: maxTokens }),
    ...(seed !== undefined && seed >= 0n && takes("seed") && { seed: Number(seed) }),
    ...(stop.length > 0 && { stopSequences: stop }),
    ...(!refused.has(tools) && toolOptions(request)),
    ...formatOf(request.responseFormat),
    headers: { "x-request-id": id, ...traceHeaders(call) },
    abortSignal: signal,
    providerOptions: providerOptionsOf(configured, request),
  };
}

/** Most providers that can be told how strictly to keep to a schema do so to the letter by themselves. */
function providerOptionsOf(
  { package: name, providerOptions }: Configured,
  { responseFormat }: LLMRequest,
): ProviderOptions {
  const { keys } = chatPackage(name);
  if (responseFormat?.type !== "json_schema") return providerOptions as ProviderOptions;
  const asked = { strictJsonSchema: responseFormat.jsonSchema?.strict ?? false };
  const all = Object.assign(asked, ...keys.map((key) => providerOptions[key]));
  const own = Object.fromEntries(keys.map((key) => [key, all]));
  return { ...providerOptions, ...own } as ProviderOptions;
}

type ProviderOptions = NonNullable<LanguageModelV3CallOptions["providerOptions"]>;
