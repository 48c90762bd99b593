/** What calls cost, in whole billionths of the price table's unit: sums of them are exact. */
import { fits } from "../pattern.js";
import type { Price, PricedTarget } from "./settings.js";

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

/** What of a call its price may hang on besides its model: who answers it, and how long its prompt is. */
export interface Served {
  readonly backend?: string | undefined;
  /** What that backend calls the model. */
  readonly backendModel?: string | undefined;
  readonly promptTokens?: number | undefined;
}

/**
 * The price of a call.
 * @param model under which it counts
 * @returns `undefined` if the table does not have it
 */
export function priceOf(
  prices: readonly Price[],
  model: string,
  { backend, backendModel, promptTokens = 0 }: Served,
): Price | undefined {
  return prices.find(
    ({ model: pattern, target, promptAbove = -1 }) =>
      fits(pattern, model) &&
      promptTokens > promptAbove &&
      (!target || isOf(target, backend, backendModel)),
  );
}

const isOf = (target: PricedTarget, backend = "", model = ""): boolean =>
  (target.backend ?? backend) === backend &&
  (target.model === undefined || fits(target.model, model));

/** Whether the price of one model's calls may hang on more than the model. */
export const isConditional = ({ target, promptAbove }: Price): boolean =>
  target !== undefined || promptAbove !== undefined;

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
