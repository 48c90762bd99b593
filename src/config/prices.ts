/** What calls cost, as it is written in the configuration. */
import * as z from "zod";
import type { TokenRates } from "../core/limits/settings.js";
import { modelPattern, name } from "./fields.js";

const anyPrice = () => z.number().min(0).max(1_000_000);
const price = () => anyPrice().default(0);

const targetSchema = z
  .strictObject({
    backend: name.optional().describe("Name of the backend. Default: any."),
    model: modelPattern
      .optional()
      .describe("What it calls the model; one * stands for anything. Default: whatever."),
  })
  .refine(({ backend, model }) => backend !== undefined || model !== undefined, {
    error: "must have a backend, a model, or both",
    // Of a key that was meant as one of them enough is said.
    when: ({ issues }) => issues.length === 0,
  });

const tierSchema = z
  .strictObject({
    input: anyPrice().optional().describe("Per million tokens of prompts."),
    cached_input: anyPrice().optional().describe("Per million of those in a cache."),
    cache_write_input: anyPrice().optional().describe("Per million of those written to a cache."),
    cache_write_1h_input: anyPrice()
      .optional()
      .describe("Per million of those of these that are kept for an hour."),
    output: anyPrice().optional().describe("Per million tokens of completions."),
  })
  .transform(({ input, output, ...cached }): TokenRates => {
    const rates = Object.entries({
      input,
      cachedInput: cached.cached_input,
      cacheWriteInput: cached.cache_write_input,
      cacheWrite1hInput: cached.cache_write_1h_input,
      output,
    });
    // They stand above the ordinary ones.
    return Object.fromEntries(rates.filter(([, rate]) => rate !== undefined));
  });

const priceSchema = z
  .strictObject({
    model: modelPattern.describe(
      "Name; one * in it stands for anything. The first entry that fits a call counts.",
    ),
    target: targetSchema
      .optional()
      .describe("Of calls that such a target answers. Default: whoever answers."),
    prompt_above: z
      .int()
      .min(1)
      .max(1_000_000_000)
      .optional()
      .describe(
        "Of calls whose prompts have more tokens than this: all that they take. Default: of all.",
      ),
    input: price().describe("Per million tokens of prompts."),
    cached_input: anyPrice()
      .optional()
      .describe("Per million of those that the model server had in a cache. Default: as input."),
    cache_write_input: anyPrice()
      .optional()
      .describe("Per million of those that the model server wrote to a cache. Default: as input."),
    cache_write_1h_input: anyPrice()
      .optional()
      .describe(
        "Per million of those of these that are kept for an hour, where the model server tells. Default: as cache_write_input.",
      ),
    output: price().describe("Per million tokens of completions."),
    image: price().describe("Per image."),
    tiers: z
      .strictObject({
        flex: tierSchema.optional().describe("Of service_tier flex."),
        priority: tierSchema.optional().describe("Of service_tier priority."),
      })
      .optional()
      .describe(
        "Of calls in other tiers of service than the ordinary one; a price that is absent there is the ordinary one. A tier without an entry is dropped from requests, with a warning. Default: none.",
      ),
  })
  .transform(
    ({
      cached_input: cachedInput,
      cache_write_input: cacheWriteInput,
      cache_write_1h_input: cacheWrite1hInput,
      prompt_above: promptAbove,
      ...one
    }) => ({ ...one, cachedInput, cacheWriteInput, cacheWrite1hInput, promptAbove }),
  );

/** The section `prices` of the configuration. */
export const pricesSchema = z.array(priceSchema);
