/** What a call may take at most, known before it runs. */
import type { Call } from "../call.js";
import { estimatePrompt } from "../estimate.js";
import { completionTokens } from "../fit.js";
import { imagesAsked } from "../images.js";
import type { Bounds } from "../settings.js";
import type { Amounts } from "./prices.js";

/**
 * The estimate for a call whose model is known: the prompt by its length, the
 * completion by the most that was asked for, images as they were asked for.
 * @param bounds of request fields, the operator's
 * @throws LintelError for an image request whose prompts can't be read
 */
export function demandOf(
  call: Call,
  bounds: Bounds,
): Required<Omit<Amounts, "cachedTokens" | "cacheWriteTokens" | "cacheWrite1hTokens">> {
  switch (call.method) {
    case "chat":
    case "complete": {
      const chat = call as Call<"chat">;
      return {
        promptTokens: estimatePrompt(chat.request),
        completionTokens: mostCompletion(chat, bounds),
        images: 0,
      };
    }
    case "textToImage":
    case "streamTextToImage": {
      const images = imagesAsked(call as unknown as Call<"textToImage">, bounds);
      return { promptTokens: 0, completionTokens: 0, images };
    }
    default:
      return { promptTokens: 0, completionTokens: 0, images: 0 };
  }
}

/** The most that any of its targets may be asked for. */
function mostCompletion(
  { request, modelSettings, targets = [] }: Call<"chat">,
  bounds: Bounds,
): number {
  let most = 0;
  for (const { model } of targets) {
    most = Math.max(most, completionTokens(request, model, modelSettings, bounds));
  }
  return most;
}
