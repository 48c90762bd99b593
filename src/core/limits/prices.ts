/** What calls cost, in whole billionths of the price table's unit: sums of them are exact. */
import { fits } from "../pattern.js";
import type { Price } from "./settings.js";

/** Billionths in one unit. */
export const unit = 1e9;

/** What can have a price. */
export interface Amounts {
  readonly promptTokens?: number | undefined;
  /** Of these, those that the model server had in a cache. */
  readonly cachedTokens?: number | undefined;
  readonly completionTokens?: number | undefined;
  readonly images?: number | undefined;
}

/**
 * The price of a model.
 * @returns `undefined` if the table does not have it
 */
export function priceOf(prices: readonly Price[], model: string): Price | undefined {
  return prices.find((price) => fits(price.model, model));
}

/** What something costs, in billionths of a unit. */
export function costOf(
  { input = 0, cachedInput = input, output = 0, image = 0 }: Price,
  { promptTokens = 0, cachedTokens = 0, completionTokens = 0, images = 0 }: Amounts,
): number {
  const prompt = (promptTokens - cachedTokens) * input + cachedTokens * cachedInput;
  // A price per million in billionths is one per token in thousandths.
  return Math.round((prompt + completionTokens * output) * 1000 + images * image * unit);
}
