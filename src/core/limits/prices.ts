/** What calls cost, in whole billionths of the price table's unit: sums of them are exact. */
import { fits } from "../pattern.js";
import type { Price, PricedTarget, TokenRates } from "./settings.js";

/** Billionths in one unit. */
export const unit = 1e9;

/** What can have a price. */
export interface Amounts {
  readonly promptTokens?: number | undefined;
  /** Of these, those that the model server had in a cache. */
  readonly cachedTokens?: number | undefined;
  /** Of the others those that it wrote to a cache. */
  readonly cacheWriteTokens?: number | undefined;
  /** Of these, those that are kept there for an hour. */
  readonly cacheWrite1hTokens?: number | undefined;
  readonly completionTokens?: number | undefined;
  readonly images?: number | undefined;
}

/** What of a call its price may hang on besides its model: who answers it in which tier, and how long its prompt is. */
export interface Served {
  readonly backend?: string | undefined;
  /** What that backend calls the model. */
  readonly backendModel?: string | undefined;
  readonly promptTokens?: number | undefined;
  /** The tier of service that was asked for. */
  readonly serviceTier?: string | undefined;
  /** The one that served it, where the model server tells. */
  readonly servedTier?: string | undefined;
}

/**
 * The price of a call: of the tier that served it, or else of the one that was asked for.
 * @param model under which it counts
 * @returns `undefined` if the table does not have it
 */
export function priceOf(
  prices: readonly Price[],
  model: string,
  { backend, backendModel, promptTokens = 0, serviceTier, servedTier = serviceTier }: Served,
): Price | undefined {
  const price = prices.find(
    ({ model: pattern, target, promptAbove = -1 }) =>
      fits(pattern, model) &&
      promptTokens > promptAbove &&
      (!target || isOf(target, backend, backendModel)),
  );
  const rates = price && servedTier !== undefined ? ratesOf(price, servedTier) : undefined;
  return price && rates ? { ...price, ...rates } : price;
}

/** What another tier costs than the ordinary one, by whatever name a model server tells of it. */
const ratesOf = ({ tiers }: Price, tier: string): TokenRates | undefined =>
  tier === "flex" ? tiers?.flex : tier === "priority" ? tiers?.priority : undefined;

/** Whether a call may have a price, and none for a tier of service: it would cost what nobody knows. */
export const lacksTier = (
  prices: readonly Price[],
  model: string,
  { backend, backendModel }: Served,
  tier: string,
): boolean => {
  for (const price of prices) {
    if (!fits(price.model, model)) continue;
    if (price.target && !isOf(price.target, backend, backendModel)) continue;
    if (!ratesOf(price, tier)) return true;
    // The entries behind it are of no such call.
    if (price.promptAbove === undefined) return false;
  }
  return false;
};

const isOf = (target: PricedTarget, backend = "", model = ""): boolean =>
  (target.backend ?? backend) === backend &&
  (target.model === undefined || fits(target.model, model));

/** Whether the price of one model's calls may hang on more than the model. */
export const isConditional = ({ target, promptAbove, tiers }: Price): boolean =>
  target !== undefined || promptAbove !== undefined || tiers !== undefined;

/** What something costs, in billionths of a unit. */
export function costOf(
  {
    input = 0,
    cachedInput = input,
    cacheWriteInput = input,
    cacheWrite1hInput = cacheWriteInput,
    output = 0,
    image = 0,
  }: Price,
  amounts: Amounts,
): number {
  const { promptTokens = 0, completionTokens = 0, images = 0 } = amounts;
  const { cachedTokens = 0, cacheWriteTokens = 0, cacheWrite1hTokens = 0 } = amounts;
  const prompt =
    (promptTokens - cachedTokens - cacheWriteTokens) * input +
    cachedTokens * cachedInput +
    (cacheWriteTokens - cacheWrite1hTokens) * cacheWriteInput +
    cacheWrite1hTokens * cacheWrite1hInput;
  // A price per million in billionths is one per token in thousandths.
  return Math.round((prompt + completionTokens * output) * 1000 + images * image * unit);
}
