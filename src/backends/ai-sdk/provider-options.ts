/** Options of single providers, which the AI SDK's common interface has no words for. */

import type { SharedV3ProviderOptions } from "@ai-sdk/provider";
import type { LLMRequest } from "../../../gen/lintel/v1/chat_pb.js";
import { isBiased } from "../../core/defaults.js";
import { isObject, type JsonObject } from "../../core/json.js";
import { promptCacheKey, toldCacheKey } from "../cache-key.js";
import { saidPenalty } from "../completions/refusals/sampling.js";
import { endUser } from "../completions/refusals/words.js";
import { longestOfOpenai, toldUser } from "../end-user.js";
import type { ChatPackage, Extra } from "./chat-package.js";
import { chatPackage } from "./chat-packages.js";
import type { Asked, Configured } from "./request.js";

/**
 * What its provider hands on to its vendor, unknown to it, under its own name; `undefined`: nothing.
 * @param more what it does besides
 */
export function extrasOf(
  { repetitionPenalty, minP, logitBias, serviceTier }: LLMRequest,
  { model, package: name }: Configured,
  refused: ReadonlySet<string>,
  more: JsonObject | undefined,
): readonly [name: string, options: JsonObject] | undefined {
  const { extras = [], tier } = chatPackage(name);
  const takes = (field: Extra) => extras.includes(field) && !refused.has(field);
  const takesTier = tier === "extra" && serviceTier !== "" && !refused.has("service_tier");
  const penalty = saidPenalty(repetitionPenalty);
  const options = {
    ...(penalty !== undefined && takes("repetition_penalty") && { repetition_penalty: penalty }),
    ...(minP && takes("min_p") && { min_p: minP }),
    ...(isBiased(logitBias) && takes("logit_bias") && { logit_bias: logitBias }),
    ...(takesTier && { service_tier: serviceTier }),
    ...more,
  };
  if (Object.keys(options).length === 0) return undefined;
  const [key = ""] = model.provider.split(".");
  // By the other spelling it warns.
  return [key.replace(/[_-]([a-z])/g, (it) => it.slice(1).toUpperCase()), options];
}

/** Options that say whether one answer may call several tools, where the request says it. */
export const parallelOf = (
  { tools: offered, parallelToolCalls }: LLMRequest,
  known: ChatPackage,
) =>
  offered.length > 0 && parallelToolCalls !== undefined ? known.parallel?.(parallelToolCalls) : {};

const noOptions: JsonObject = {};

/**
 * Options that say in which tier of service a call runs, where it asks for one and its provider has options for tiers;
 * `undefined`: not for this one.
 */
export function tierOf({ serviceTier }: LLMRequest, { tier }: ChatPackage): JsonObject | undefined {
  return serviceTier === "" || typeof tier !== "function" ? noOptions : tier(serviceTier);
}

/** Options that tell a provider whom a call is for, where it is told and has any. */
export function userOf(
  request: LLMRequest,
  { package: name, passUser = "never" }: Configured,
  refused: ReadonlySet<string>,
): JsonObject {
  const { user: write, keys } = chatPackage(name);
  const longest = keys.includes("anthropic") ? undefined : longestOfOpenai;
  const told = write && toldUser(request.user, passUser, longest);
  return told === undefined || refused.has(endUser) ? {} : (write?.(told) ?? {});
}

/** Options that tell a provider which calls belong together, where this one says so and it has any. */
export function cacheKeyOf(
  call: Pick<Asked, "affinity" | "request">,
  configured: Configured,
  refused: ReadonlySet<string>,
): JsonObject | undefined {
  const { cacheKey: write } = chatPackage(configured.package);
  const told = write && !refused.has(promptCacheKey) ? toldCacheKey(call) : undefined;
  return told === undefined ? undefined : write?.(told);
}

/** Options for every request and for this one, where the operator says nothing else. */
export function providerOptionsOf(
  { package: name, providerOptions }: Configured,
  { responseFormat }: LLMRequest,
  own: readonly [name: string, options: JsonObject] | undefined,
  ofCall: JsonObject,
): SharedV3ProviderOptions {
  const { keys, strict, sent } = chatPackage(name);
  // Most providers that can be told how strictly to keep to a schema do so to the letter by themselves.
  const strictly = strict &&
    responseFormat?.type === "json_schema" && {
      strictJsonSchema: responseFormat.jsonSchema?.strict ?? false,
    };
  const ours = { ...sent, ...ofCall, ...strictly };
  if (!own && Object.keys(ours).length === 0) return providerOptions as SharedV3ProviderOptions;
  const all = keys.reduce((said, key) => above(said, providerOptions[key]), ours);
  const told = { ...providerOptions, ...Object.fromEntries(keys.map((key) => [key, all])) };
  if (own) told[own[0]] = above(own[1], told[own[0]]);
  return told as SharedV3ProviderOptions;
}

/** Options with others above them, also inside of what both have. */
const above = (ours: JsonObject, theirs: JsonObject = {}): JsonObject => ({
  ...ours,
  ...Object.fromEntries(
    Object.entries(theirs).map(([name, value]) => {
      const under = ours[name];
      return [name, isObject(under) && isObject(value) ? { ...under, ...value } : value];
    }),
  ),
});
