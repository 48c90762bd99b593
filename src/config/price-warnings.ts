/** Prices of targets that there are none of. */
import { usualAddresses } from "../backends/discover.js";
import { embeddedEntry } from "./backends.js";
import type { Config } from "./schema.js";
import { didYouMean } from "./suggest.js";

/** A line for each: one table may be for several gateways, so that it is no mistake. */
export function priceWarnings({ prices, backends }: Config): string[] {
  const known = (backends ?? [embeddedEntry, ...usualAddresses]).map(({ name }) => name);
  return prices.flatMap(({ target }, i) => {
    const backend = target?.backend;
    if (backend === undefined || known.includes(backend)) return [];
    const hint = didYouMean(backend, known);
    return [
      `prices[${i}].target.backend: there is no backend ${JSON.stringify(backend)}${hint}, so that it is the price of no call here`,
    ];
  });
}
