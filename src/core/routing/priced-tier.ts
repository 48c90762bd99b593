/** Asks targets for tiers of service whose price is known, or for which nothing is paid. */
import type { LLMRequest } from "../../../gen/lintel/v1/chat_pb.js";
import type { Call } from "../call.js";
import { unsupported } from "../errors.js";
import { lacksTier } from "../limits/prices.js";
import type { Price } from "../limits/settings.js";
import { type BackendMethod, type Input, isChat } from "../methods.js";
import { notSupported, type Warnings } from "../warnings.js";
import type { Target } from "./target.js";

/** Name of the field. */
const serviceTier = "service_tier";

/**
 * A request as a target may be asked: without its tier of service where calls to that target have a price, but none in
 * that tier. Budgets would count another one.
 * @param warnings gets a line where the tier is dropped
 * @throws LintelError `unsupported_parameter` where the model's `unsupported` is `reject`
 */
export function inPricedTier(
  { method, request, attributes, modelSettings }: Call,
  { backend, model }: Target,
  prices: readonly Price[],
  warnings: Warnings,
): Input<BackendMethod> {
  const asked = request as Input<BackendMethod>;
  if (!isChat(method)) return asked;
  const { serviceTier: tier } = asked as LLMRequest;
  if (tier === "" || tier === ordinary) return asked;
  const served = { backend: backend.name, backendModel: model.id };
  if (!lacksTier(prices, attributes.model ?? "", served, tier)) return asked;
  if (modelSettings?.unsupported === "reject") throw unsupported(serviceTier);
  warnings.add(notSupported(serviceTier));
  return withoutTier(asked);
}

/** A request that asks for no tier of service. @returns the same where it asks for none */
export function withoutTier<R extends object>(request: R): R {
  const { serviceTier: tier } = request as Partial<LLMRequest>;
  return tier ? { ...request, serviceTier: "" } : request;
}

/** It has the price of a call that asks for none. */
const ordinary = "default";
