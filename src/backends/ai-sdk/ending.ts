/** Why an answer ended, and what it counted, as providers tell of it. */
import type { LanguageModelV3FinishReason, LanguageModelV3Usage } from "@ai-sdk/provider";
import { detailsOf } from "../../core/chat-messages.js";
import { isObject } from "../../core/json.js";
import {
  gaveUp,
  readFinishReason,
  readUsageDetails,
  usageOf,
  writtenForAnHourIn,
} from "../completions/completion.js";
import { uint32 } from "../http/json.js";

const finishReasons: Readonly<Record<string, string>> = {
  stop: "stop",
  length: "length",
  "content-filter": "content_filter",
  "tool-calls": "tool_calls",
};

/**
 * Whether the vendor's stream ended without a reason: providers begin with `other`, or since
 * AI SDK 7 with `interrupted`, and still have that then. Whole answers may do without.
 */
export function brokeOff({ unified, raw }: { unified: string; raw: string | undefined }): boolean {
  return unified === "interrupted" || (unified === "other" && raw === undefined);
}

/**
 * What a provider has no name of its own for is read as OpenAI-compatible servers say it.
 * @param incomplete what else its vendor says of a reason
 */
export function finishReasonOf(
  { unified, raw }: LanguageModelV3FinishReason,
  incomplete = "",
): string {
  if (unified === "error") throw gaveUp(raw ?? unified);
  return finishReasons[unified] ?? readFinishReason(incomplete || raw) ?? "stop";
}

/**
 * Providers hand on whatever is a number, and those for any OpenAI-compatible server leave out what only the total has.
 * @param cached tokens of the prompt that were in a cache, where the provider does not say it
 */
export function countsOf(
  { inputTokens, outputTokens, raw }: LanguageModelV3Usage,
  cached?: number,
) {
  // Such providers have 0 for what is not told.
  const details =
    isObject(raw) && "prompt_tokens" in raw
      ? readUsageDetails(raw)
      : detailsOf(
          toldOf(inputTokens.cacheRead ?? cached),
          toldOf(inputTokens.cacheWrite),
          toldOf(outputTokens.reasoning),
          isObject(raw) ? writtenForAnHourIn(raw) : undefined,
        );
  return usageOf(
    uint32(inputTokens.total),
    uint32(outputTokens.total),
    uint32(raw?.total_tokens),
    details,
  );
}

const toldOf = (count: number | undefined) => (count === undefined ? undefined : uint32(count));
